package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Endpoint is one address of a node.
type Endpoint struct {
	// Name is the listener's name in upper case.
	Name string
	// Host is a name or an IP address without brackets; "" as a bind address is every interface.
	Host string
	// Port is 0 when the system is to choose one.
	Port int32
	// Protocol is the security protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	Protocol string
}

// String returns NAME://host:port, IPv6 hosts in brackets.
func (e Endpoint) String() string {
	host := e.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return e.Name + "://" + host + ":" + strconv.Itoa(int(e.Port))
}

// Listeners are the addresses of a node.
type Listeners struct {
	// Bind are the addresses for clients to be listened on, in the order of the file.
	Bind []Endpoint
	// Controller are those of the controller, named by controller.listener.names.
	Controller []Endpoint
	// Advertised are what clients are told, one for each of Bind that is advertised.
	Advertised []Endpoint
	// InterBroker is the name of the listener that brokers use among themselves.
	InterBroker string
}

// Listeners reads listeners, advertised.listeners, listener.security.protocol.map, controller.listener.names
// and inter.broker.listener.name together. hostname is advertised where no host is given.
func (l Layers) Listeners(hostname string) (Listeners, error) {
	protocols, err := l.protocolMap()
	if err != nil {
		return Listeners{}, err
	}
	all, err := parseEndpoints("listeners", l.List("listeners"), protocols)
	if err != nil {
		return Listeners{}, err
	}
	if err := distinct("listeners", all); err != nil {
		return Listeners{}, err
	}
	out := Listeners{InterBroker: strings.ToUpper(l.String("security.inter.broker.protocol"))}
	controllers := upper(l.List("controller.listener.names"))
	for _, e := range all {
		if slices.Contains(controllers, e.Name) {
			out.Controller = append(out.Controller, e)
		} else {
			out.Bind = append(out.Bind, e)
		}
	}
	out.Advertised = slices.Clone(out.Bind)
	if l.IsSet("advertised.listeners") {
		if out.Advertised, err = parseEndpoints("advertised.listeners", l.List("advertised.listeners"), protocols); err != nil {
			return Listeners{}, err
		}
		// Kafka's own file of a node that is broker and controller advertises both; clients hear of the former.
		out.Advertised = slices.DeleteFunc(out.Advertised, func(e Endpoint) bool { return slices.Contains(controllers, e.Name) })
	}
	for i := range out.Advertised {
		if out.Advertised[i].Host == "" {
			out.Advertised[i].Host = hostname
		}
	}
	return out, errors.Join(l.checkListeners(&out, all, controllers, protocols), plaintextOnly(all))
}

// checkListeners tests the lists against each other and finds the inter-broker listener.
func (l Layers) checkListeners(out *Listeners, all []Endpoint, controllers []string, protocols map[string]string) error {
	var errs []error
	if l.IsSet("inter.broker.listener.name") {
		out.InterBroker = strings.ToUpper(l.String("inter.broker.listener.name"))
		errs = append(errs,
			require(!l.IsSet("security.inter.broker.protocol"), "only one of inter.broker.listener.name and security.inter.broker.protocol may be set"),
			require(protocols[out.InterBroker] != "", "inter.broker.listener.name: %s is not in listener.security.protocol.map", out.InterBroker))
	}
	names := namesOf(all)
	if l.IsSet("controller.listener.names") {
		errs = append(errs, require(len(out.Controller) > 0, "controller.listener.names: none of %s is in listeners", strings.Join(controllers, ",")))
	}
	errs = append(errs,
		require(len(out.Bind) > 0, "listeners: there is none for clients"),
		require(slices.Contains(namesOf(out.Advertised), out.InterBroker),
			"the inter-broker listener %s is not among the advertised listeners %s; set inter.broker.listener.name", out.InterBroker, strings.Join(namesOf(out.Advertised), ",")))
	seen := map[string]bool{}
	for _, e := range out.Advertised {
		errs = append(errs,
			require(!seen[e.Name], "advertised.listeners: %s stands twice", e.Name),
			require(slices.Contains(names, e.Name), "advertised.listeners: %s is not in listeners", e.Name),
			require(e.Host != "0.0.0.0", "advertised.listeners: clients cannot reach 0.0.0.0; set advertised.listeners to an address they can reach"))
		seen[e.Name] = true
	}
	for _, name := range upper(l.List("early.start.listeners")) {
		errs = append(errs, require(slices.Contains(names, name) || slices.Contains(controllers, name), "early.start.listeners: %s is not in listeners", name))
	}
	return errors.Join(errs...)
}

// protocolMap returns listener.security.protocol.map by listener name. While it is left at its default,
// controller listeners are PLAINTEXT unless they are named after a protocol.
func (l Layers) protocolMap() (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range splitList(strings.TrimSpace(l.String("listener.security.protocol.map"))) {
		i := strings.LastIndexByte(pair, ':')
		if i < 0 {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is not NAME:PROTOCOL", pair)
		}
		name, protocol := strings.ToUpper(strings.TrimSpace(pair[:i])), strings.ToUpper(strings.TrimSpace(pair[i+1:]))
		if !slices.Contains(securityProtocols, protocol) {
			return nil, fmt.Errorf("listener.security.protocol.map: %s is not one of %s", protocol, strings.Join(securityProtocols, ", "))
		}
		m[name] = protocol
	}
	if !l.IsSet("listener.security.protocol.map") {
		for _, c := range upper(l.List("controller.listener.names")) {
			if m[c] == "" {
				m[c] = "PLAINTEXT"
			}
		}
	}
	return m, nil
}

var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// plaintextOnly refuses listeners that would need TLS or SASL: to serve them in the clear would be worse.
func plaintextOnly(all []Endpoint) error {
	for _, e := range all {
		if e.Protocol != "PLAINTEXT" {
			return fmt.Errorf("listeners: %s uses %s, which is not supported yet; only PLAINTEXT is", e, e.Protocol)
		}
	}
	return nil
}

func parseEndpoints(key string, list []string, protocols map[string]string) ([]Endpoint, error) {
	var out []Endpoint
	for _, text := range list {
		name, addr, ok := strings.Cut(text, "://")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not NAME://host:port", key, text)
		}
		host, port, err := splitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not NAME://host:port: %w", key, text, err)
		}
		e := Endpoint{Name: strings.ToUpper(strings.TrimSpace(name)), Host: host, Port: port}
		if e.Protocol = protocols[e.Name]; e.Protocol == "" {
			return nil, fmt.Errorf("%s: no security protocol is defined for listener %s in listener.security.protocol.map", key, e.Name)
		}
		out = append(out, e)
	}
	return out, nil
}

// splitHostPort parts host:port. The host may be empty, and an IPv6 address may do without brackets.
func splitHostPort(s string) (string, int32, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, errors.New("there is no port")
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s[:i], "["), "]")
	if strings.ContainsAny(host, "/[]@ \t") {
		return "", 0, fmt.Errorf("%q is not a host", host)
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not a port", s[i+1:])
	}
	return host, int32(port), nil
}

// distinct refuses two listeners with one name or one port. An IPv4 and an IPv6 address may share a port.
func distinct(key string, list []Endpoint) error {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Name == b.Name {
				return fmt.Errorf("%s: each listener must have a different name, %s stands twice", key, a.Name)
			}
			if a.Port == b.Port && a.Port != 0 && !oneOfEach(a.Host, b.Host) {
				return fmt.Errorf("%s: %s and %s must have different ports, unless one address is IPv4 and the other IPv6", key, a, b)
			}
		}
	}
	return nil
}

func oneOfEach(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Is4() != y.Is4()
}

// parseOverrides reads host:limit, ….
func parseOverrides(s string) (map[string]int, error) {
	m := map[string]int{}
	for _, pair := range splitList(strings.TrimSpace(s)) {
		i := strings.LastIndexByte(pair, ':')
		n, err := strconv.ParseInt(strings.TrimSpace(pair[i+1:]), 10, 32)
		if i < 0 || err != nil {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %q is not host:limit", pair)
		}
		m[strings.TrimSpace(pair[:i])] = int(n)
	}
	return m, nil
}

// ConnectionsPerIPOverrides returns max.connections.per.ip.overrides by host, as it is written there.
func (l Layers) ConnectionsPerIPOverrides() map[string]int {
	m, _ := parseOverrides(l.String("max.connections.per.ip.overrides")) // checked when it was set
	return m
}

// LogDirs returns the data directories: log.dirs, or log.dir when that is not set.
func (l Layers) LogDirs() []string {
	if dirs := l.List("log.dirs"); len(dirs) > 0 {
		return dirs
	}
	return l.List("log.dir")
}

func upper(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToUpper(s)
	}
	return out
}

func namesOf(list []Endpoint) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.Name
	}
	return out
}

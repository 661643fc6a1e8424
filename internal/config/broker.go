package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ValidateBroker tests the dynamic configs that a broker (perBroker) or the default of all brokers would have,
// as DynamicBrokerConfig does. Names that are not known are custom configs and pass. configs is all that the
// resource would hold; l is what holds today.
func ValidateBroker(l Layers, perBroker bool, configs map[string]string) error {
	if err := checkDynamicNames(l, perBroker, configs); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if d := l.Static.definitionOf(name); d != nil {
			if _, err := d.Parse(configs[name]); err != nil {
				return named(err, name)
			}
		}
	}
	next := l
	if perBroker {
		next.Broker = configs
	} else {
		next.Cluster = configs
	}
	if err := crossCheck(next); err != nil {
		return err
	}
	if err := checkResize(l, next); err != nil {
		return err
	}
	return checkUnservedChange(l, next)
}

// checkDynamicNames refuses keys that may not be changed where they would be.
func checkDynamicNames(l Layers, perBroker bool, configs map[string]string) error {
	var fixed, prefix, single []string
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		d := l.Static.definitionOf(name)
		if d == nil {
			continue
		}
		if d.Name == name && d.Mode == ReadOnly {
			fixed = append(fixed, name)
		}
		if d.Name == name && slices.Contains(perListener, name) {
			prefix = append(prefix, name)
		}
		if d.Mode == PerBroker || d.Name != name && !slices.Contains(clusterListenerKeys, d.Name) {
			single = append(single, name)
		}
	}
	switch {
	case len(fixed) > 0:
		return fmt.Errorf("these configs cannot be changed while the broker runs: %s", strings.Join(fixed, ", "))
	case len(prefix) > 0:
		return fmt.Errorf("these configs can be changed for one listener only, with its prefix listener.name.NAME.: %s", strings.Join(prefix, ", "))
	case len(single) > 0 && !perBroker:
		return fmt.Errorf("these configs cannot be changed for all brokers, a broker id is needed: %s", strings.Join(single, ", "))
	}
	return nil
}

// perListener are the keys of certificates and keys, which belong to a listener
// (DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS).
var perListener = []string{
	"ssl.truststore.location", "ssl.keystore.location", "ssl.truststore.type", "ssl.keystore.key", "ssl.key.password",
	"ssl.keystore.type", "ssl.keystore.certificate.chain", "ssl.keystore.password", "ssl.truststore.password", "ssl.truststore.certificates",
}

// clusterListenerKeys may be changed for all brokers even with a listener prefix
// (DynamicBrokerConfig.CLUSTER_LEVEL_LISTENER_CONFIGS).
var clusterListenerKeys = []string{"max.connection.creation.rate", "num.network.threads", "max.connections"}

// poolKeys are numbers of threads.
var poolKeys = []string{
	"num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads",
	"log.cleaner.threads", "remote.log.reader.threads", "remote.log.manager.copier.thread.pool.size",
	"remote.log.manager.expiration.thread.pool.size", "remote.log.manager.follower.thread.pool.size",
}

// checkResize refuses to more than double or to less than halve a number of threads in one step, which is
// Kafka's guard against a slip of the finger.
func checkResize(l, next Layers) error {
	for _, key := range poolKeys {
		before, after := l.Int(key), next.Int(key)
		if before == after {
			continue
		}
		switch {
		case after < 1:
			return fmt.Errorf("%s must be at least 1, not %d", key, after)
		case after < before/2:
			return fmt.Errorf("%s cannot go from %d to %d: not to less than half in one step", key, before, after)
		case after > before*2:
			return fmt.Errorf("%s cannot go from %d to %d: not to more than double in one step", key, before, after)
		}
	}
	return nil
}

// checkUnservedChange refuses what would need listeners to be opened or closed while the broker runs, or Java.
func checkUnservedChange(l, next Layers) error {
	for _, key := range []string{"listeners", "listener.security.protocol.map"} {
		if l.shown(key) != next.shown(key) {
			return errors.New(key + " cannot be changed while the broker runs yet; set it in the properties file and start again")
		}
	}
	for _, key := range []string{"metric.reporters", "principal.builder.class"} {
		if l.shown(key) != next.shown(key) {
			return errors.New(key + " cannot be changed: it names Java classes, which do not run here")
		}
	}
	return nil
}

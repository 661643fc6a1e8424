package controller

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// The iterations that Kafka takes for both mechanisms (ScramMechanism, ScramControlManager).
const (
	minScramIterations = 4096
	maxScramIterations = 16384
)

// scramHash is the hash of a mechanism; nil: there is no such mechanism.
func scramHash(mechanism int8) func() hash.Hash {
	switch mechanism {
	case 1:
		return sha256.New
	case 2:
		return sha512.New
	}
	return nil
}

// AlterScramCredentials sets and removes credentials of users (KIP-554). A user can be named once in a request; the
// changes of users without error are made together.
func (c *Controller) AlterScramCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest) *kmsg.AlterUserSCRAMCredentialsResponse {
	resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
	var users []string
	times := map[string]int{}
	name := func(user string) {
		if times[user]++; times[user] == 1 {
			users = append(users, user)
		}
	}
	for _, d := range req.Deletions {
		name(d.Name)
	}
	for _, u := range req.Upsertions {
		name(u.Name)
	}
	var failed map[string]*Error
	_, err := c.update(func(i *metadata.Image, _ record.Offset) (out []stored.Message, err error) {
		out, failed = scramRecords(i, req, times)
		if len(out) > maxRecordsPerOperation {
			return nil, refuse(kerr.PolicyViolation, "one request can change %d credentials", maxRecordsPerOperation)
		}
		return out, nil
	})
	for _, user := range users {
		r := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		e := failed[user]
		if err != nil {
			e = asError(err)
		}
		r.User, r.ErrorCode, r.ErrorMessage = user, e.code(), e.message()
		resp.Results = append(resp.Results, r)
	}
	return resp
}

// scramRecords returns the changes and, by user, why there is none.
func scramRecords(i *metadata.Image, req *kmsg.AlterUserSCRAMCredentialsRequest, times map[string]int) ([]stored.Message, map[string]*Error) {
	var out []stored.Message
	failed := map[string]*Error{}
	for _, d := range req.Deletions {
		err := scramUser(i, d.Name, d.Mechanism, times)
		if err == nil && i.ScramCredential(d.Name, d.Mechanism) == nil {
			err = refuse(kerr.ResourceNotFound, "the user has no such credential")
		}
		if err != nil {
			failed[d.Name] = err
			continue
		}
		out = append(out, &stored.RemoveUserScramCredentialRecord{Name: d.Name, Mechanism: d.Mechanism})
	}
	for _, u := range req.Upsertions {
		err := scramUser(i, u.Name, u.Mechanism, times)
		switch {
		case err != nil:
		case u.Iterations < minScramIterations || u.Iterations > maxScramIterations:
			err = refuse(kerr.UnacceptableCredential, "the iterations are %d, outside of %d to %d", u.Iterations, minScramIterations, maxScramIterations)
		case len(u.SaltedPassword) == 0:
			err = &Error{Code: kerr.UnknownServerError} // Java's HMAC takes no empty key
		}
		if err != nil {
			failed[u.Name] = err
			continue
		}
		out = append(out, scramCredential(u))
	}
	return out, failed
}

func scramUser(i *metadata.Image, user string, mechanism int8, times map[string]int) *Error {
	switch {
	case times[user] > 1:
		return refuse(kerr.DuplicateResource, "a user cannot be altered twice in one request")
	case i.MetadataVersion() < metadata.ScramVersion:
		return refuse(kerr.UnsupportedVersion, "metadata.version %d has no SCRAM credentials", i.MetadataVersion())
	case user == "":
		return refuse(kerr.UnacceptableCredential, "the user's name is empty")
	case scramHash(mechanism) == nil:
		return refuse(kerr.UnsupportedSaslMechanism, "there is no SCRAM mechanism %d", mechanism)
	}
	return nil
}

// scramCredential derives the keys that are kept from the salted password (RFC 5802).
func scramCredential(u kmsg.AlterUserSCRAMCredentialsRequestUpsertion) *stored.UserScramCredentialRecord {
	h := scramHash(u.Mechanism)
	sign := func(text string) []byte {
		m := hmac.New(h, u.SaltedPassword)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	storedKey := h()
	storedKey.Write(sign("Client Key"))
	return &stored.UserScramCredentialRecord{
		Name: u.Name, Mechanism: u.Mechanism, Iterations: u.Iterations, Salt: append([]byte{}, u.Salt...),
		StoredKey: storedKey.Sum(nil), ServerKey: sign("Server Key"),
	}
}

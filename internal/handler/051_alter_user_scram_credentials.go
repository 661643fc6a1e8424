package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/wire"
)

// alterUserScramCredentials has the controller set and remove SCRAM credentials.
func (h *Handler) alterUserScramCredentials(_ context.Context, r *wire.Request) wire.Reply {
	return wire.Reply{Body: h.deps.Controller.AlterScramCredentials(r.Body.(*kmsg.AlterUserSCRAMCredentialsRequest))}
}

package handler

import (
	"context"
	"time"

	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/wire"
)

// caller is the client of a request as the group coordinator sees it.
func caller(ctx context.Context, r *wire.Request) group.Caller {
	return group.Caller{
		ClientID:   r.ClientID,
		ClientHost: r.Client.Host,
		Wait:       func(done <-chan struct{}, timeout time.Duration) bool { return r.Wait(ctx, done, timeout) },
		Gone:       ctx.Done(),
	}
}

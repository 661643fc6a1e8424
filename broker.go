package samsa

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/inspect/scrub"
	"github.com/samsalog/samsa/internal/console"
	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	sharegroup "github.com/samsalog/samsa/internal/share"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/share/deadletter"
	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/storage/logdir"
)

// Broker is a running node.
type Broker struct {
	dirs       *logdir.Manager
	store      *metadata.Store
	replicas   *replica.Manager
	groups     *group.Service
	txns       *txn.Service
	shareState *sharestate.Service
	share      *sharegroup.Manager
	letters    *deadletter.Writer
	server     *wire.Server
	ctl        *controller.Controller
	console    *console.Server // nil without samsa.http.listen
	release    func() error    // gives the scratch directory up; nil unless read-only
	scrub      *scrub.Scrubber // nil when it is turned off
	bound      []net.Listener
	// listeners describes bound, one for one.
	listeners []*wire.Listener
	// epoch is the broker epoch of this registration; -1 before it.
	epoch atomic.Int64
	// ready is set once Start has succeeded, stopping when Shutdown begins.
	ready, stopping atomic.Bool
	serving         sync.WaitGroup
	stop            sync.Once
	stopErr         error
	done            chan struct{}
	// failed holds the first error of a listener that ended by itself.
	failed chan error
}

// Addr is the host:port that the first listener is bound to.
func (b *Broker) Addr() string { return b.bound[0].Addr().String() }

// ClusterID is the id of the cluster that the directories belong to.
func (b *Broker) ClusterID() string { return b.store.Image().ClusterID }

// Done is closed when the broker has stopped.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Failed delivers the error of a listener that ended by itself. The broker then still has to be shut down.
func (b *Broker) Failed() <-chan error { return b.failed }

func (b *Broker) fail(err error) {
	select {
	case b.failed <- err:
	default:
	}
}

// Shutdown stops the broker cleanly: no new connections, requests in hand are answered while ctx lasts, transactions whose
// end is decided get their markers, then logs are closed so that the next start trusts them. It returns what could not
// be written.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.stop.Do(func() {
		b.stopping.Store(true)
		err := b.server.Shutdown(ctx)
		b.serving.Wait()
		if b.scrub != nil {
			b.scrub.Close()
		}
		b.settle(ctx)
		// The coordinators still append; they end before the logs do. Ends of transactions go through the groups.
		b.txns.Close()
		b.share.Close()
		b.shareState.Close()
		b.groups.Close()
		b.replicas.Close()
		b.stopErr = errors.Join(err, b.ctl.Shutdown(), b.dirs.Close(), b.store.Close())
		if b.release != nil {
			b.stopErr = errors.Join(b.stopErr, b.release())
		}
		if b.console != nil {
			b.stopErr = errors.Join(b.stopErr, b.console.Close(ctx))
		}
		close(b.done)
	})
	<-b.done
	return b.stopErr
}

// settleFor is how long a stop waits for partitions that do not take the end of a transaction: one whose directory is
// offline never does.
const settleFor = 2 * time.Second

// settle lets transactions end that are decided.
func (b *Broker) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	b.txns.Settle(ctx)
}

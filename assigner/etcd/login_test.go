package etcd

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/uidring/uidring/assigner/lease"
)

// accounts stands for a server with accounts, and for the connection to it. It gives out the tokens
// "1", "2" and so on, and takes the last one only.
type accounts struct {
	refusal error    // what it answers to a login; nil: a token
	stale   error    // what it answers to another token than the last one
	given   int      // tokens
	seen    []string // the tokens of the requests; "none" where there was none
}

// answer stands for grpc.ClientConn.Invoke.
func (s *accounts) answer(_ context.Context, _ string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker,
	_ ...grpc.CallOption) error {
	if s.refusal != nil {
		return s.refusal
	}
	if r := req.(*pb.AuthenticateRequest); r.Name != "user" || r.Password != "secret" {
		return rpctypes.ErrGRPCAuthFailed
	}
	s.given++
	reply.(*pb.AuthenticateResponse).Token = strconv.Itoa(s.given)
	return nil
}

// take is a grpc.UnaryInvoker for a request that needs a token.
func (s *accounts) take(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
	sent, _ := metadata.FromOutgoingContext(ctx)
	token := "none"
	if got, ok := sent[rpctypes.TokenFieldNameGRPC]; ok {
		token = got[0]
	}
	s.seen = append(s.seen, token)
	if token != strconv.Itoa(s.given) {
		return s.stale
	}
	return nil
}

// loginTo returns a login at s, and a call that makes a request by it.
func loginTo(t *testing.T, s *accounts) (*login, func(grpc.UnaryInvoker) error) {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///nowhere", grpc.WithUnaryInterceptor(s.answer),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	l := &login{user: "user", password: "secret"}
	return l, func(invoker grpc.UnaryInvoker) error {
		return l.unary(t.Context(), pb.KV_Txn_FullMethodName, nil, nil, cc, invoker)
	}
}

// TestLoginStale: one token serves all requests until the server says, in one of its three ways, that
// it is stale. Then the same request goes again, once, with a new token.
func TestLoginStale(t *testing.T) {
	t.Parallel()
	for _, stale := range []error{rpctypes.ErrGRPCInvalidAuthToken, rpctypes.ErrGRPCUserEmpty,
		rpctypes.ErrGRPCAuthOldRevision} {
		s := &accounts{stale: stale}
		_, request := loginTo(t, s)
		for i := range 4 {
			if i == 2 {
				s.given++ // the token of before has expired
			}
			if err := request(s.take); err != nil {
				t.Errorf("%v: request %d: %v", stale, i, err)
			}
		}
		if want := []string{"1", "1", "1", "3", "3"}; !slices.Equal(s.seen, want) {
			t.Errorf("%v: the requests had the tokens %q, want %q", stale, s.seen, want)
		}
		always := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			s.seen = append(s.seen, "refused")
			return stale
		}
		s.seen = nil
		if err := request(always); !errors.Is(err, stale) || len(s.seen) != 2 {
			t.Errorf("a server that refuses every token: error %v after %d requests, want %v after 2",
				err, len(s.seen), stale)
		}
	}
}

// TestLoginReplaced: of two requests that met the same stale token, the one that hears of it later
// leaves the token alone that the other one has got meanwhile.
func TestLoginReplaced(t *testing.T) {
	t.Parallel()
	s := &accounts{stale: rpctypes.ErrGRPCInvalidAuthToken}
	_, request := loginTo(t, s)
	first := true
	err := request(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		opts ...grpc.CallOption) error {
		err := s.take(ctx, method, req, reply, cc, opts...)
		if first {
			first = false
			s.given++
			err = s.stale
			if other := request(s.take); other != nil {
				t.Error(other)
			}
		}
		return err
	})
	if want := []string{"1", "1", "3", "3"}; err != nil || !slices.Equal(s.seen, want) {
		t.Errorf("error %v, and the requests had the tokens %q, want %q", err, s.seen, want)
	}
}

// TestLoginNone: a server without accounts gets requests without a token and one login only. Any other
// refusal of the login is the error of the request, which is not made.
func TestLoginNone(t *testing.T) {
	t.Parallel()
	s := &accounts{refusal: rpctypes.ErrGRPCAuthNotEnabled, stale: rpctypes.ErrGRPCPermissionDenied}
	l, request := loginTo(t, s)
	if err := request(s.take); !errors.Is(err, s.stale) || !slices.Equal(s.seen, []string{"none"}) {
		t.Errorf("error %v, and the requests had the tokens %q, want %v and no token", err, s.seen, s.stale)
	}
	if token := l.token.Load(); token == nil || *token != "" {
		t.Errorf("the login keeps %v, want that there is no token", token)
	}
	s = &accounts{refusal: rpctypes.ErrGRPCAuthFailed}
	_, request = loginTo(t, s)
	if err := request(s.take); !errors.Is(err, s.refusal) || len(s.seen) != 0 {
		t.Errorf("after a refused login: error %v and %d requests, want %v and none", err, len(s.seen), s.refusal)
	}
}

// TestExplain: an account without rights, or a wrong one, is a refusal. A token that has expired, and a
// server that is away, are none: another try may succeed.
func TestExplain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		rpctypes.ErrPermissionDenied: true, rpctypes.ErrAuthFailed: true, rpctypes.ErrUserEmpty: true,
		rpctypes.ErrInvalidAuthToken: false, rpctypes.ErrAuthOldRevision: false,
		rpctypes.ErrNoLeader: false, context.DeadlineExceeded: false,
	} {
		got := explain(err)
		if !errors.Is(got, err) || errors.Is(got, lease.ErrRefused) != want {
			t.Errorf("explain(%v) = %v, want ErrRefused: %v", err, got, want)
		}
	}
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// The names of entries.
const (
	headerName = storekind.HeaderName
	slotPrefix = storekind.SlotPrefix
	notePrefix = storekind.NotePrefix
)

// store holds the entries of a namespace. Its reads are etcd's linearizable ones, which is what the
// client asks for unless it is told otherwise.
type store struct {
	client    *clientv3.Client
	endpoints []string // the client's at first: a move knows the store by them
	namespace string
	own       bool // Open made the client
}

var _ lease.Store = (*store)(nil)

// String says where the keys are.
func (s *store) String() string {
	return "etcd at " + strings.Join(s.endpoints, ",") + " under " + s.namespace
}

// Close closes the client that Open made. Another Close does nothing.
func (s *store) Close() error {
	if !s.own {
		return nil
	}
	if err := s.client.Close(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // closed already
}

func (s *store) key(name string) string { return s.namespace + "/" + name }

func (s *store) entry(kv *mvccpb.KeyValue) lease.Entry {
	return lease.Entry{Name: strings.TrimPrefix(string(kv.Key), s.namespace+"/"), Value: kv.Value,
		Version: strconv.FormatInt(kv.ModRevision, 10)}
}

// Fresh says that List is not old.
func (s *store) Fresh() {}

// List reads the header and the keys that begin like a slot's, at one revision. A longer
// namespace may begin like one too, such as /uidring/slot-1: package lease passes over names that
// are no slot's.
func (s *store) List(ctx context.Context) ([]lease.Entry, error) {
	resp, err := s.client.Txn(ctx).Then(
		clientv3.OpGet(s.key(headerName)),
		clientv3.OpGet(s.key(slotPrefix), clientv3.WithPrefix())).Commit()
	if err != nil {
		return nil, explain(err)
	}
	header, slots := resp.Responses[0].GetResponseRange(), resp.Responses[1].GetResponseRange()
	kvs := slices.Concat(header.GetKvs(), slots.GetKvs())
	all := make([]lease.Entry, len(kvs))
	for i, kv := range kvs {
		all[i] = s.entry(kv)
	}
	return all, nil
}

// Notes reads the names of the keys that begin like a note's. It implements storekind.Noter.
func (s *store) Notes(ctx context.Context) ([]int64, error) {
	resp, err := s.client.Get(ctx, s.key(notePrefix), clientv3.WithPrefix(),
		clientv3.WithKeysOnly())
	if err != nil {
		return nil, explain(err)
	}
	var ids []int64
	for _, kv := range resp.Kvs {
		if id, ok := storekind.WorkerOf(s.entry(kv).Name, notePrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Get reads a key.
func (s *store) Get(ctx context.Context, name string) (lease.Entry, error) {
	resp, err := s.client.Get(ctx, s.key(name))
	if err != nil {
		return lease.Entry{}, explain(err)
	}
	if len(resp.Kvs) == 0 {
		return lease.Entry{Name: name}, nil
	}
	return s.entry(resp.Kvs[0]), nil
}

// Put is one transaction. It compares the value as well as the revision, because a cluster that was
// restored from a snapshot counts from an earlier revision, and so may use a revision twice.
func (s *store) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	key := s.key(old.Name)
	unchanged := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}
	if old.Version != "" {
		revision, err := strconv.ParseInt(old.Version, 10, 64)
		if err != nil {
			return lease.Entry{}, fmt.Errorf("%w: %w", lease.ErrRefused, err)
		}
		unchanged = []clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(key), "=", revision),
			clientv3.Compare(clientv3.Value(key), "=", string(old.Value)),
		}
	}
	put := clientv3.OpPut(key, string(value))
	resp, err := s.client.Txn(ctx).If(unchanged...).Then(put).Commit()
	switch {
	case err != nil:
		return lease.Entry{}, explain(err)
	case !resp.Succeeded:
		return lease.Entry{}, lease.ErrConflict
	}
	return lease.Entry{Name: old.Name, Value: value,
		Version: strconv.FormatInt(resp.Header.Revision, 10)}, nil
}

// explain marks the errors that another try does not change: they wrap lease.ErrRefused.
func explain(err error) error {
	e, _ := errors.AsType[rpctypes.EtcdError](err) // none: its code is OK
	if errors.Is(err, rpctypes.ErrInvalidAuthToken) ||
		errors.Is(err, rpctypes.ErrAuthOldRevision) {
		return err // tokens expire, and rights change
	}
	switch e.Code() {
	case codes.PermissionDenied, codes.InvalidArgument, codes.Unauthenticated:
		return fmt.Errorf("%w: %w", lease.ErrRefused, err)
	default:
		return err
	}
}

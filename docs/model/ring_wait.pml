// Waiting takers of package ringbuffer (policy TakeWait): a counter of waiters, and a channel with
// room for one token. ring.md has the properties in words. A put is one step here, and so is a
// take: ring.pml has their steps.
//
// expect: ok
// variants: -DBATCH=1 expect: ok
// variants: -DBROKEN=1 -DBATCH=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#define WAITERS 3
#define UIDS 3

short cursor = -1, published = -1;
byte  waiters;
chan  wake = [1] of { bit };

// Ghosts.
byte  asleep;      // waiters that wait for the token
byte  taken;

inline signal() {
	atomic {
		if
		:: nfull(wake) -> wake!1
		:: full(wake)
		fi
	}
}

proctype producer() {
	byte seen;
	do
	:: published == UIDS - 1 -> break
	:: else ->
#if BROKEN == 2
		seen = waiters;      // looks for waiters before it puts
#endif
#ifdef BATCH
		published = UIDS - 1;
#else
		published++;
#endif
#if BROKEN != 2
		seen = waiters;
#endif
		if
		:: seen > 0 -> signal()
		:: else
		fi
	od
}

// try is TryTake.
inline try(ok) {
	atomic {
		if
		:: cursor < published -> cursor++; taken++; ok = true
		:: else -> ok = false
		fi
	}
}

// A waiter takes a uid. With gives it may give up instead, as when its ctx ends.
proctype waiter(bool gives) {
	bool ok;
#if BROKEN == 3
	try(ok);                     // looks at the ring before it counts itself
	if
	:: ok -> goto out
	:: else
	fi;
	atomic { waiters++ };
	goto sleep;                  // and does not look again
#else
	atomic { waiters++ };
#endif
again:
	try(ok);
	if
	:: ok -> goto leave
	:: else
	fi;
sleep:
	atomic { asleep++ };
end_asleep:
	if
	:: atomic { wake?_ -> asleep-- }
	:: atomic { gives -> asleep--; goto leave }
	fi;
	goto again;
leave:
#if BROKEN != 1
	atomic { waiters--; ok = (waiters > 0) };
	if
	:: ok ->
		if
		:: cursor < published -> signal()
		:: else
		fi
	:: else
	fi;
#else
	atomic { waiters-- };        // does not pass the token on
#endif
out:
	skip
}

// A thief takes without waiting, and so may take the uid that a waiter was woken for.
proctype thief() {
	bool ok;
	try(ok)
}

active proctype monitor() {
	atomic {
		run producer();
		run waiter(false);
		run waiter(true);
		run waiter(false);
		run thief()
	}
	// Nothing can move any more: no waiter sleeps while a uid is there.
end:
	timeout;
	assert(asleep == 0 || cursor == published);
	assert(taken == cursor + 1)
}

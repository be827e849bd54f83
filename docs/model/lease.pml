// The lease of one worker id: package assigner/lease, and what uid's keeper does with the claim and
// its window. lease.md has the properties in words.
//
// There is one slot, and processes that claim it, stamp ticks, extend, release, and may stop for
// ever at any step. A Put is one step of the store. Its answer may be lost, and it may land long
// after its sender has given it up. What was not answered is not safe yet: the store may show it
// and lose it. Where the program reads a clock, the process's or the store's, the model picks any
// number: the argument uses no clock.
//
// expect: ok
// variants: -DREAP=1 -DCHANGES=2 expect: ok
// variants: -DBACK=1 expect: ok
// variants: -DBACK=2 -DCHANGES=4 expect: ok
// variants: -DCLONE=1 -DCHANGES=2 expect: ok
// variants: -DCLONE=2 -DCHANGES=2 expect: error
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 expect: error
// variants: -DBROKEN=6 expect: error
// variants: -DBROKEN=7 -DBACK=2 -DCHANGES=4 expect: error
// variants: -DBROKEN=8 -DBACK=1 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef BACK
#define BACK 0
#endif
#ifndef TICKS
#define TICKS 2         // ticks 0..TICKS-1, and the ends 0..TICKS
#endif
#ifndef CHANGES
#define CHANGES 3       // the most Puts that are sent
#endif

// The slot as the store shows it.
byte token;             // the fencing token
byte nonce;             // of the last change: its number, which no other change has
byte until;             // end of the window
bool old;               // the store went back, and nothing has repaired the slot since

byte safeToken, safeNonce, safeUntil; // the slot as it is safe from the loss of a server
bool safeOld;

byte sent;              // changes sent so far
byte highest;           // the last end that was ever sent; the reach covers it

// One Put that its sender has given up. It lands later or never.
bool late;
byte lateToken, lateNonce, lateOld, lateUntil;

// Ghosts.
byte stamped[TICKS];    // the owner that has stamped ids of a tick
byte common;            // ticks below may be stamped by copies of one claim, and by an owner after
                        // a copy that has released

// apply is the Put from fencing token g and nonce o: a compare-and-set.
inline apply(ag, ao, an, au, done) {
	if
	:: (token == ag && nonce == ao) || BROKEN == 1 ->
		token = ag + 1; nonce = an; until = au; old = false; done = true
	:: else -> done = false
	fi
}

// secure makes what is shown safe: an answer does, for all changes before it too.
inline secure() { safeToken = token; safeNonce = nonce; safeUntil = until; safeOld = old }

// send sends the Put from (bg, bo) that sets the end to u. ok says that it was confirmed. lost says
// that no answer came: it has landed, or lands later, or never does.
inline send(u) {
	atomic {
		sent++; mine = sent; ok = false; lost = false;
		if :: u > highest -> highest = u :: else -> skip fi;
		if
		:: true -> apply(bg, bo, mine, u, ok); if :: ok -> secure() :: else -> skip fi
		:: true -> apply(bg, bo, mine, u, ok); ok = false; lost = true
		:: !late ->
			late = true; lateToken = bg; lateOld = bo; lateNonce = mine; lateUntil = u;
			lost = true
		fi
	}
}

// store lets the late Put land, and loses what it has shown and not answered.
active proctype store() {
	bool done;
end:	do
	:: atomic { late -> apply(lateToken, lateOld, lateNonce, lateUntil, done);
		late = false; lateToken = 0; lateOld = 0; lateNonce = 0; lateUntil = 0;
		done = false }
	:: atomic { nonce != safeNonce ->
		token = safeToken; nonce = safeNonce; until = safeUntil; old = safeOld }
	od
}

// owner is a process. It claims, and goes on with the claim. [from, end_) is its window as far as
// it knows. g and o are fencing token and nonce of the slot as its last answered change left it. n1
// and n2 are the nonces of later changes, whose outcome is unknown. A clone begins as a copy of all
// that.
proctype owner(byte me; bool copied; byte g; byte o; byte from; byte end_; byte n1) {
	byte n2, mine, u, pos, bg, bo, readUntil, sentFrom;
	bool ok, lost;
	pos = from;
	if
	:: copied -> goto owned
	:: else -> skip
	fi;
claiming:
	// The slot is read. Whether its window has passed depends on a clock, so it may have. A process
	// may start only when a store that went back was repaired.
	atomic {
		if :: old -> goto stop :: else -> skip fi;
		bg = token; bo = nonce; readUntil = until
	};
	if
	:: sent >= CHANGES -> goto stop
	:: sent < CHANGES && n1 != 0 && bo == n1 -> // an earlier try was made
#if BROKEN == 6
		atomic { g = bg; o = bo; end_ = readUntil; from = sentFrom; pos = from;
			n1 = 0; readUntil = 0; sentFrom = 0; bg = 0; bo = 0; goto owned };
#endif
		from = sentFrom; u = readUntil
	:: sent < CHANGES && (n1 == 0 || bo != n1) && readUntil == TICKS -> goto stop
	:: sent < CHANGES && (n1 == 0 || bo != n1) && readUntil < TICKS ->
		if
#if BROKEN == 2
		:: from = (readUntil > 0 -> readUntil - 1 : 0) // from "now", by a clock that is behind
#endif
		:: from = readUntil
#ifndef CLONE
		:: readUntil + 1 < TICKS -> from = readUntil + 1 // it was unused for a while
#endif
		fi;
		u = from + 1;
		if :: true :: u < TICKS -> u++ fi
	fi;
	atomic {
		if :: sent < CHANGES && !old -> send(u) :: sent >= CHANGES || old -> goto stop fi
	};
	if
	:: ok -> skip
	:: lost ->
#if BROKEN == 3
		skip // mistaken for a success
#else
		atomic { n1 = mine; sentFrom = from; from = 0; u = 0; mine = 0; bg = 0; bo = 0;
			readUntil = 0; lost = false; goto claiming }
#endif
	:: else -> atomic { from = 0; u = 0; mine = 0; bg = 0; bo = 0; readUntil = 0; goto claiming }
	fi;
	atomic { g = bg + 1; o = mine; end_ = u; pos = from; u = 0; mine = 0; readUntil = 0; n1 = 0;
		sentFrom = 0; ok = false; bg = 0; bo = 0 };
owned:
	do
	:: pos < end_ -> atomic { // a tick of ids
			assert(stamped[pos] == 0 || stamped[pos] == me || pos < common);
			if :: stamped[pos] == 0 -> stamped[pos] = me :: else -> skip fi;
			pos++ }
#ifndef CLONE
	:: pos < end_ -> pos++ // the clock went on
#endif
#ifdef CLONE
	:: atomic { me == 1 && common == 0 && !copied ->
#if CLONE == 1
			common = end_; // the copies share the window
#else
			common = pos; // as if the copies shared nothing but the past
#endif
			run owner(3, true, g, o, pos, end_, n1) }
#endif
	:: sent < CHANGES && end_ < TICKS -> // extend: read the slot, then change it
		atomic {
			if
			:: token == g && nonce == o -> bg = token; bo = nonce; u = end_ + 1
			:: token == g + 1 && nonce != 0 && (nonce == n1 || nonce == n2) ->
				// A change whose answer was lost. It counts when the next one is answered.
				bg = token; bo = nonce; u = (until > end_ -> until : end_ + 1);
#if BROKEN == 6
				end_ = u
#endif
			:: old -> bg = token; bo = nonce; goto repair
			:: else -> goto stop // lost
			fi
		};
		if
		:: sent < CHANGES && end_ < TICKS -> atomic {
			send(u);
			if
			:: ok -> g = bg + 1; o = mine; n1 = 0; n2 = 0; end_ = u
#if BROKEN == 4
			:: lost -> end_ = u // mistaken for a success
#else
			:: lost && n1 == 0 -> n1 = mine
			:: lost && n1 != 0 -> n2 = mine
#endif
			:: !ok && !lost // the next read of the slot tells why
			fi;
			u = 0; mine = 0; bg = 0; bo = 0; ok = false; lost = false }
		:: else -> skip
		fi
	:: sent < CHANGES -> // release: the window's end moves back to the position
		atomic {
			if
			:: token == g && nonce == o -> bg = token; bo = nonce
			:: token == g + 1 && nonce != 0 && (nonce == n1 || nonce == n2) ->
				bg = token; bo = nonce
			:: old -> bg = token; bo = nonce; goto repair
			:: else -> goto stop
			fi
		};
		if
		:: sent < CHANGES ->
#if BROKEN == 5
			u = (pos > from -> pos - 1 : pos); // less than was used
#else
			u = pos;
#endif
			send(u)
		:: else -> skip
		fi;
		goto stop // nothing is stamped after a release, whatever its outcome
	:: true -> goto stop // the process dies, or stops for ever
	od;
repair:
	// The slot is behind what the process knows. It is lost, and gets an end that is beyond every
	// window which the store has forgotten. Then this process may claim anew.
	if
	:: sent < CHANGES ->
#if BROKEN == 7
		u = end_; // the known end only
#else
		u = (end_ > highest -> end_ : highest);
#endif
		send(u);
		atomic { g = 0; o = 0; n1 = 0; n2 = 0; from = 0; end_ = 0; pos = 0; u = 0; mine = 0;
			bg = 0; bo = 0; ok = false; lost = false; goto claiming }
	:: else -> skip
	fi;
stop:	// What a process that has stopped knows makes no difference.
	atomic { g = 0; o = 0; n1 = 0; n2 = 0; from = 0; end_ = 0; pos = 0; u = 0; mine = 0; bg = 0;
		bo = 0; readUntil = 0; sentFrom = 0; ok = false; lost = false }
}

#ifdef REAP
// reaper takes the slot from an owner whose window has passed by a clock, which may say anything.
active proctype reaper() {
	byte bg, bo, u, mine;
	bool ok, lost;
	atomic { bg = token; bo = nonce; u = until };
	if :: sent < CHANGES -> send(u) :: true fi
}
#endif

#if BACK == 1
// backup takes a backup, and restores it later. Restore has run when any process gets through. No
// Put outlives the server that it was sent to.
active proctype backup() {
	byte bToken, bNonce, bUntil;
end:	atomic { bToken = safeToken; bNonce = safeNonce; bUntil = safeUntil };
end2:	atomic {
		sent < CHANGES -> sent++;
		late = false; lateToken = 0; lateOld = 0; lateNonce = 0; lateUntil = 0;
		token = bToken + 1; nonce = sent;
#if BROKEN == 8
		until = bUntil; // the end of the backup
#else
		until = (bUntil > highest -> bUntil : highest);
#endif
		secure()
	}
}
#endif

#if BACK == 2
// wipe puts the slot back to what it was before the first claim, and no Restore runs.
active proctype wipe() {
end:	atomic {
		token > 0 && !old && sent < CHANGES ->
		token = 0; nonce = 255; until = 0; old = true; // a version never returns
		late = false; lateToken = 0; lateOld = 0; lateNonce = 0; lateUntil = 0;
		secure()
	}
}
#endif

init {
	atomic {
		run owner(1, false, 0, 0, 0, 0, 0);
		run owner(2, false, 0, 0, 0, 0, 0)
	}
}

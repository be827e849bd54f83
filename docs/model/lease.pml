// The lease of one worker id: package assigner/workernode's Leased, and what uid's keeper does with
// the claim and its window. lease.md has the properties in words.
//
// There is one row, and processes that claim it, stamp ticks, extend, release, and may stop for
// ever at any step. A statement is one step of the database. Its answer may be lost, and it may
// land long after its sender has given it up. Where the program reads a clock, the process's or the
// database's, the model picks any number: the argument uses no clock.
//
// expect: ok
// variants: -DREAP=1 -DCHANGES=3 -DTICKS=2 expect: ok
// variants: -DCLONE=1 -DCHANGES=3 -DTICKS=2 expect: ok
// variants: -DCLONE=2 -DCHANGES=3 -DTICKS=2 expect: error
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 expect: error
// depth: 4000000

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef TICKS
#define TICKS 3         // ticks 0..TICKS-1, and the ends 0..TICKS
#endif
#ifndef CHANGES
#define CHANGES 4       // the most statements that are sent
#endif

// The row.
byte token;             // the fencing token
byte nonce;             // of the last change: its number, which no other change has
byte until;             // end of the window
bool taken;             // the row has an owner; only operators read it

byte sent;              // changes sent so far

// One statement that its sender has given up. It lands later or never.
bool late;
byte lateToken, lateNonce, lateOld, lateUntil;
bool lateTaken;

// Ghosts.
byte stamped[TICKS];    // the owner that has stamped ids of a tick
byte common;            // ticks below may be stamped by copies of one claim, and by an owner after
                        // a copy that has released

// apply is the UPDATE from fencing token g and nonce o: a compare-and-set.
inline apply(ag, ao, an, au, aw, done) {
	if
	:: (token == ag && nonce == ao) || BROKEN == 1 ->
		token = ag + 1; nonce = an; until = au; taken = aw; done = true
	:: else -> done = false
	fi
}

// send sends the UPDATE from (g, o) that sets the end to u. ok says that it was confirmed. lost
// says that no answer came: it has landed, or lands later, or never does.
inline send(u, w) {
	atomic {
		sent++; mine = sent; ok = false; lost = false;
		if
		:: true -> apply(g, o, mine, u, w, ok)
		:: true -> apply(g, o, mine, u, w, ok); ok = false; lost = true
		:: !late ->
			late = true; lateToken = g; lateOld = o; lateNonce = mine; lateUntil = u; lateTaken = w;
			lost = true
		fi
	}
}

// network lets the late statement land.

active proctype network() {
	bool done;
end:	do
	:: atomic { late -> apply(lateToken, lateOld, lateNonce, lateUntil, lateTaken, done);
		late = false; lateToken = 0; lateOld = 0; lateNonce = 0; lateUntil = 0; lateTaken = false;
		done = false }
	od
}

// owner is a process. It claims once, and goes on with the claim. [from, end_) is its window as far
// as it knows. g and o are fencing token and nonce of the row as it last knew it. n1 and n2 are the
// nonces of its changes whose outcome is unknown. A clone begins as a copy of all that.
proctype owner(byte me; bool copied; byte g; byte o; byte from; byte end_; byte n1) {
	byte n2, mine, u, pos, readUntil;
	bool ok, lost;
	pos = from;
	if
	:: copied -> goto owned
	:: else -> skip
	fi;
claiming:
	atomic { // The row is read. Whether its window has passed depends on a clock, so it may have.
		g = token; o = nonce; readUntil = until
	};
	if
	:: sent >= CHANGES -> goto stop
	:: readUntil == TICKS -> goto stop
	:: sent < CHANGES && readUntil < TICKS
	fi;
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
	if :: true :: u < TICKS -> u++ fi;
	if :: sent < CHANGES -> send(u, true) :: sent >= CHANGES -> goto stop fi;
	if
	:: ok -> skip
	:: lost ->
#if BROKEN == 3
		skip // mistaken for a success
#else
		// resolve: the row is read back.
		atomic {
			if
			:: token == g + 1 && nonce == mine && until == u -> skip
			:: else -> goto claiming
			fi
		}
#endif
	:: else -> goto claiming
	fi;
	atomic { g++; o = mine; end_ = u; pos = from; u = 0; mine = 0; readUntil = 0 };
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
			// The copies share the window, and what was asked for with an unknown outcome.
			common = end_; if :: late && lateUntil > common -> common = lateUntil :: else -> skip fi;
			if :: token > g && until > common -> common = until :: else -> skip fi;
#else
			common = pos; // as if the copies shared nothing but the past
#endif
			run owner(3, true, g, o, pos, end_, n1) }
#endif
	:: sent < CHANGES && end_ < TICKS -> // extend: read the row, then change it
		atomic {
			if
			:: token == g && nonce == o -> skip
			:: token == g + 1 && nonce != 0 && (nonce == n1 || nonce == n2) ->
				g++; o = nonce; n1 = 0; n2 = 0;
				if :: until > end_ -> end_ = until :: else -> skip fi
			:: else -> goto stop // lost
			fi
		};
		if
		:: sent < CHANGES && end_ < TICKS -> atomic {
			u = end_ + 1;
			send(u, true);
			if
			:: ok -> g++; o = mine; n1 = 0; n2 = 0; end_ = u
#if BROKEN == 4
			:: lost -> end_ = u // mistaken for a success
#else
			:: lost && n1 == 0 -> n1 = mine
			:: lost && n1 != 0 -> n2 = mine
#endif
			:: !ok && !lost // the next read of the row tells why
			fi;
			u = 0; mine = 0 }
		:: else -> skip
		fi
	:: sent < CHANGES -> // release: the window's end moves back to the position
		atomic {
			if
			:: token == g && nonce == o -> skip
			:: token == g + 1 && nonce != 0 && (nonce == n1 || nonce == n2) ->
				g++; o = nonce; n1 = 0; n2 = 0;
				if :: until > end_ -> end_ = until :: else -> skip fi
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
			send(u, false)
		:: else -> skip
		fi;
		goto stop // nothing is stamped after a release, whatever its outcome
	:: true -> goto stop // the process dies, or stops for ever
	od;
stop:
	skip
}

#ifdef REAP
// reaper takes the row from an owner whose window has passed by a clock, which may say anything.
active proctype reaper() {
	byte g, o, u, mine;
	bool ok, lost;
	atomic { g = token; o = nonce; u = until };
	if :: sent < CHANGES -> send(u, false) :: true fi
}
#endif

init {
	atomic {
		run owner(1, false, 0, 0, 0, 0, 0);
		run owner(2, false, 0, 0, 0, 0, 0)
	}
}

// Callers of uid.Cached that find no id: gate, Close, batches, and the end of the claim's window.
// wait.md has the properties in words.
//
// Each read and each write of a shared word is one step. A tick has one id, and what ring and lanes
// hold is a count: lane.pml and ring.pml model their insides. Time goes on between any two steps.
//
// expect: ok
// variants: -DPAD=1 expect: ok
// variants: -DEND=2 expect: ok
// variants: -DEND=2 -DPAD=1 expect: ok
// variants: -DCLOSE=1 expect: ok
// variants: -DCLOSE=1 -DPAD=1 expect: ok
// variants: -DBROKEN=1 -DPAD=1 -DCLOSE=1 expect: error
// variants: -DBROKEN=2 -DCLOSE=1 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 -DPAD=1 -DEND=2 expect: error
// variants: -DBROKEN=6 -DEND=3 expect: error
// variants: -DBROKEN=7 -DEND=3 expect: error
// variants: -DBROKEN=8 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef CALLS
#define CALLS 1      // ids that each caller takes
#endif
#ifndef END
#define END 1        // where the window ends at first
#endif
#define CAP 2        // ids that the ring holds
#define BATCH 2      // and that one batch composes, at most
#define LEAD 0       // MaxLead in ticks
#ifdef CLOSE
#define LAST 0
#define GROWS 0
#else
#define LAST 1       // the clock stops here
#define GROWS 1      // how often the window can be extended
#endif

byte now;            // the clock
byte pos;            // the tick that is composed next
byte avail;          // ids in ring and lanes
byte end = END;      // the window's end; with failed the keeper's window, which is one word
bool failed;         // why it cannot be extended
bool closed, stopped, ended;
bool composing;      // composer.mu
byte bounded;        // composer.bounded
bool padderToken, keeperToken; // a kick, or a timer
bool waits[CALLERS]; // gate: the caller's channel is not closed yet
bool asleep[CALLERS];

#define NONE 0
#define CLOSED 1
#define FAILED 2
#define EXTENDING 3
#define AHEAD 4
#define EMPTY 5

// open is gate.open: it closes the channels that were handed out.
inline open() {
	atomic {
		k = 0;
		do :: k < CALLERS -> waits[k] = false; k++ :: else -> break od;
		k = 0
	}
}

// permits sets why to what forbids the tick: by the window w, wf, and by the clock's reading.
inline permits(tick) {
	if
	:: closed -> why = CLOSED
	:: else ->
		if
		:: tick >= w && wf -> why = FAILED
		:: tick >= w && !wf -> why = EXTENDING
		:: tick < w && tick > reading + LEAD -> why = AHEAD
		:: else -> why = NONE
		fi
	fi
}

// batch composes up to BATCH ids: n of them, and why says what stopped it. It loads the window once.
inline batch() {
	reading = now;           // before the lock, so it may be old
	atomic { !composing -> composing = true; w = end; wf = failed; n = 0; why = NONE };
	do
	:: atomic { n == BATCH || avail + n >= CAP -> break }
	:: atomic { n < BATCH && avail + n < CAP ->
#if BROKEN == 4
		if :: n == 0 -> permits(pos) :: else -> skip fi;
#else
		permits(pos + n);
#endif
		if
		:: why == NONE ->
			assert(pos + n < end);           // inside the window, which only grows
			assert(pos + n <= now + LEAD);   // and not too far ahead
			n++
		:: else -> break
		fi }
	od;
	atomic { // composer.mu guards pos and bounded; lane.pml has the position before the put
		pos = pos + n;
		avail = avail + n;
		news = (n > 0 || bounded != why);
#if BROKEN == 7
		news = (bounded != why);
#endif
		bounded = why;
		renew = (pos >= w);
		composing = false;
		w = 0; wf = 0; reading = 0; why = 0
	};
	if :: news && BROKEN != 6 -> open(); news = false :: else -> news = false fi;
	if :: renew -> atomic { keeperToken = true; renew = false } :: else fi
}

proctype caller(byte i) {
	byte calls, n, w, reading, why, reason, k;
	bool wf, news, renew, got;
	do
	:: calls == CALLS -> break
	:: else ->
		atomic {
			got = (avail > 0);
			if :: got -> avail--; calls++; reason = NONE :: else fi
		};
		if
		:: got
		:: !got && reason == NONE -> // waitForRun
#ifdef PAD
			batch();
			if
			:: n > 0 -> goto over
			:: else
			fi;
#endif
#if BROKEN != 1
			waits[i] = true; // gate.wait, before the check
#endif
			reading = now;
			atomic { // composer.bound
				!composing -> w = end; wf = failed;
				permits(pos);
				reason = why;
#ifndef PAD
				if :: reason == NONE -> reason = EMPTY :: else fi;
#endif
				w = 0; wf = 0; reading = 0; why = 0
			};
#if BROKEN == 1
			waits[i] = true;
#endif
#if BROKEN == 5
			if :: reason != NONE -> goto believe :: else fi
#endif
		:: else ->
believe:
			padderToken = true;
			if
			:: reason == CLOSED || reason == FAILED -> break
			:: else ->
				asleep[i] = true;
endwait:			atomic { !waits[i] -> asleep[i] = false };
				reason = NONE
			fi
		fi;
over:		atomic { n = 0; got = 0 }
	od
}

active proctype padder() {
	byte n, w, reading, why, k;
	bool wf, news, renew;
enddo:
	do
	:: stopped -> break
	:: atomic { padderToken -> padderToken = false };
		do
		:: batch(); if :: n == 0 -> break :: else -> n = 0 fi
		od
	od;
	ended = true
}

active proctype keeper() {
	byte grown, k;
enddo:
	do
	:: atomic { keeperToken -> keeperToken = false };
		if
		:: pos < end && now < end
		:: else ->
			if
			:: grown < GROWS ->
				grown++;
#if BROKEN == 3
				open(); padderToken = true;
				atomic { end++; failed = false }
#else
				atomic { end++; failed = false };
				open(); padderToken = true
#endif
			:: true ->
				failed = true;
#if BROKEN != 8
				open(); padderToken = true
#endif
			fi
		fi
	od
}

active proctype clock() {
	do
	:: now < LAST -> atomic { now++; padderToken = true; keeperToken = true }
	:: else -> break
	od
}

#ifdef CLOSE
active proctype closer() {
	byte k;
#if BROKEN == 2
	open();
	closed = true;
	stopped = true;
#else
	closed = true;
	stopped = true;
	open();
#endif
	ended;         // wg.Wait
	atomic { !composing -> avail = 0 } // drain
}
#endif

init {
	byte i;
	atomic {
		do :: i < CALLERS -> run caller(i); i++ :: else -> break od;
		i = 0
	};
	// Nothing goes on: no timer is left, and no token. A goroutine that sleeps now sleeps for good.
	timeout;
	do
	:: i < CALLERS ->
		if
		:: asleep[i] ->
			assert(!closed);
			assert(avail == 0);
			assert(pos >= end || pos > now + LEAD);
			assert(!(pos >= end && failed))
		:: else
		fi;
		i++
	:: else -> break
	od
}

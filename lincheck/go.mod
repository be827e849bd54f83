module github.com/uidring/uidring/lincheck

go 1.26.0

require github.com/uidring/uidring v0.0.0

require (
	github.com/anishathalye/porcupine v1.3.1
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/uidring/uidring => ..

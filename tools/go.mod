// The programs and tests that check this repository. No package of the library imports them.
module github.com/uidring/uidring/tools

go 1.26.0

require github.com/uidring/uidring v0.0.0

require github.com/CycloneDX/cyclonedx-go v0.12.0

replace github.com/uidring/uidring => ..

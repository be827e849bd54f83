package assigner

import (
	"bytes"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
)

// factFiles are the files that tell machines, boots, containers and processes apart, where they
// exist and may be read. Each is small or cut off at maxFact.
var factFiles = [...]string{
	"/etc/machine-id",                 // the installation; clones of an image share it
	"/var/lib/dbus/machine-id",        // the same on systems without systemd
	"/sys/class/dmi/id/product_uuid",  // the hardware or virtual machine; readable by root only
	"/etc/hostid",                     // the BSDs' machine id
	"/proc/sys/kernel/random/boot_id", // this boot of this kernel
	"/proc/self/cgroup",               // names the container, unless it has a cgroup namespace
	"/proc/self/mountinfo",            // names the container's layers on disk
	"/proc/self/stat",                 // process id and start time
}

// factLinks are the namespaces: numbers that containers of one host do not share.
var factLinks = [...]string{
	"/proc/self/ns/pid", "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/uts",
}

// maxFact bounds what is read of one file.
const maxFact = 64 << 10

// hostFacts returns what can be found out about this machine and this process. What cannot be
// read is left out: none of it is needed, all of it helps.
func hostFacts() []string {
	facts := []string{strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())}
	if name, err := os.Hostname(); err == nil {
		facts = append(facts, name)
	}
	for _, path := range factFiles {
		facts = append(facts, path, readFact(path))
	}
	for _, path := range factLinks {
		target, _ := os.Readlink(path) // empty where there are no namespaces
		facts = append(facts, path, target)
	}
	interfaces, _ := net.Interfaces() // none: a machine without a network starts all the same
	return append(facts, hardwareAddrs(interfaces)...)
}

func readFact(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxFact)) // what was read before an error still counts
	return string(bytes.TrimSpace(b))
}

// hardwareAddrs returns the hardware addresses, sorted. Names such as eth0 are the same on all
// machines, and the order in which the kernel lists interfaces is not fixed.
func hardwareAddrs(interfaces []net.Interface) []string {
	var addrs []string
	for _, i := range interfaces {
		if len(i.HardwareAddr) > 0 {
			addrs = append(addrs, i.HardwareAddr.String())
		}
	}
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

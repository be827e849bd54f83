package assigner

// PodNamed is StatefulSet on a pod with that host name.
func PodNamed(name string) Assigner {
	return statefulSet{hostname: func() (string, error) { return name, nil }}
}

// Package kubernetes has manifests to copy. Its test compares them with what their programs do.
package kubernetes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is the part of an object that the test reads.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace      int    `yaml:"terminationGracePeriodSeconds"`
				Account    string `yaml:"serviceAccountName"`
				Containers []struct {
					Image string
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					Env []struct {
						Name, Value string
						From        struct {
							Field struct {
								Path string `yaml:"fieldPath"`
							} `yaml:"fieldRef"`
						} `yaml:"valueFrom"`
					}
					Readiness probe `yaml:"readinessProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Startup   probe `yaml:"startupProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// object is a part of a file.
type object struct{ file, text string }

// objects returns the objects of all manifests.
func objects(t *testing.T) (all []object) {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("files %q, %v, want 4", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			all = append(all, object{file, part})
		}
	}
	return all
}

// TestManifests: every image is made of a program in the tree. It serves the paths that probes ask for,
// reads what env sets, and is told where its worker ids come from, with an account if that is the
// cluster. No liveness probe restarts a pod without ids, and the grace period is longer than the
// shutdown.
func TestManifests(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, o := range objects(t) {
		var m manifest
		if err := yaml.Unmarshal([]byte(o.text), &m); err != nil {
			t.Fatalf("%s: %v", o.file, err)
		}
		kinds = append(kinds, m.Kind)
		if m.APIVersion == "" || m.Metadata.Name == "" {
			t.Errorf("%s: %+v has no version or name", o.file, m)
		}
		check(t, o.file, m)
	}
	slices.Sort(kinds)
	if want := []string{"Deployment", "Deployment", "Job", "Role", "RoleBinding", "Service",
		"ServiceAccount", "StatefulSet"}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %q, want %q", kinds, want)
	}
}

// program returns the text of the program that an image registry.example/NAME:1 is made of.
func program(t *testing.T, image string) string {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(image), ":")
	text, err := os.ReadFile(filepath.Join("..", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// check checks the pods of an object.
func check(t *testing.T, file string, m manifest) {
	t.Helper()
	pod := m.Spec.Template
	for name, value := range m.Spec.Selector.MatchLabels {
		if pod.Metadata.Labels[name] != value {
			t.Errorf("%s: the pods have no label %s=%s", file, name, value)
		}
	}
	for _, c := range pod.Spec.Containers {
		service := program(t, c.Image)
		if m.Kind == "Job" {
			if len(c.Args) != 1 || !strings.Contains(service, `os.Args[1] == "`+c.Args[0]+`"`) {
				t.Errorf("%s: the service has no command %q", file, c.Args)
			}
			continue
		}
		if pod.Spec.Grace < 20 {
			t.Errorf("%s: the grace period is %d s, want 20 or more", file, pod.Spec.Grace)
		}
		if path := c.Readiness.HTTPGet.Path; path == "" || !strings.Contains(service, `"GET `+path+`"`) {
			t.Errorf("%s: the service serves no %q, the path of the readiness probe", file, path)
		}
		if c.Startup.HTTPGet.Path != "" && c.Startup != c.Readiness || c.Liveness.HTTPGet.Path != "" {
			t.Errorf("%s: probes %+v, want a startup probe like the readiness probe, or none, and no "+
				"liveness probe", file, c)
		}
		if len(c.Ports) != 1 || c.Ports[0].Name != c.Readiness.HTTPGet.Port || c.Ports[0].ContainerPort != 8080 {
			t.Errorf("%s: ports %+v, want 8080 alone, under the readiness probe's name", file, c.Ports)
		}
		source, cluster, named := "", false, false
		for _, e := range c.Env {
			if e.Name == "POD_NAME" { // package assigner reads it
				named = e.From.Field.Path == "metadata.name"
				continue
			}
			if !strings.Contains(service, `os.Getenv("`+e.Name+`")`) {
				t.Errorf("%s: the service reads no %s", file, e.Name)
			}
			if strings.HasPrefix(e.Name, "UID_") {
				source += e.Name
				cluster = strings.HasPrefix(e.Value, "kubernetes:")
			}
		}
		if named != (m.Kind == "StatefulSet") {
			t.Errorf("%s: the pod's name is in POD_NAME: %v, want it for a StatefulSet", file, named)
		}
		if !slices.Contains([]string{"UID_DSN", "UID_FILE", "UID_WORKERS"}, source) {
			t.Errorf("%s: env has worker ids from %q, want one source", file, source)
		}
		if (pod.Spec.Account != "") != cluster {
			t.Errorf("%s: the account is %q, worker ids come from the cluster: %v", file, pod.Spec.Account, cluster)
		}
	}
}

package kubernetes

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxConfig bounds the size of a kubeconfig file in bytes.
const maxConfig = 4 << 20

// Kubeconfig returns the cluster of a context in the kubeconfig file at path. An empty path means
// the environment variable KUBECONFIG, else .kube/config in the home folder. An empty context means
// the file's current one. Kubeconfig reads files and makes no connection.
//
// Of a cluster it takes the server, the certificate authority, tls-server-name and
// insecure-skip-tls-verify. Of a user it takes a token, a token's file, which is read for each
// request, and a client certificate, whose files are read for each connection. Users with exec,
// auth-provider, username or impersonation, and clusters with proxy-url, are an error that says so.
// The file may be YAML as kubectl writes it, or JSON. Several files in KUBECONFIG are not merged:
// "kubectl config view --raw --flatten --minify" makes one of them.
//
// Errors name the file and the field, and show no secret.
func Kubeconfig(path, context string) (*Cluster, error) {
	path, err := kubeconfigPath(path)
	if err != nil {
		return nil, err
	}
	c, err := readKubeconfig(path, context)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: kubeconfig %s: %w", path, err)
	}
	return c, nil
}

// kubeconfigPath returns path, or if that is empty the path where kubectl would look.
func kubeconfigPath(path string) (string, error) {
	if path = cmp.Or(path, os.Getenv("KUBECONFIG")); path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("kubernetes: kubeconfig: no path is given, KUBECONFIG is not "+
				"set: %w", err)
		}
		path = filepath.Join(home, ".kube", "config")
	}
	if list := filepath.SplitList(path); len(list) > 1 {
		return "", fmt.Errorf("kubernetes: kubeconfig: %d files are named, want one", len(list))
	}
	return path, nil
}

// kubeconfig is a kubeconfig file, as far as it is read here.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Clusters       []struct {
		Name    string        `json:"name"`
		Cluster configCluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string     `json:"name"`
		User configUser `json:"user"`
	} `json:"users"`
	Contexts []struct {
		Name    string        `json:"name"`
		Context configContext `json:"context"`
	} `json:"contexts"`
}

type configCluster struct {
	Server   string `json:"server"`
	CAFile   string `json:"certificate-authority"`
	CAData   string `json:"certificate-authority-data"`
	Name     string `json:"tls-server-name"`
	Insecure flag   `json:"insecure-skip-tls-verify"`
	ProxyURL string `json:"proxy-url"`
}

type configUser struct {
	Token     string          `json:"token"`
	TokenFile string          `json:"tokenFile"`
	CertFile  string          `json:"client-certificate"`
	CertData  string          `json:"client-certificate-data"`
	KeyFile   string          `json:"client-key"`
	KeyData   string          `json:"client-key-data"`
	Username  string          `json:"username"`
	As        string          `json:"as"`
	Exec      json.RawMessage `json:"exec"`
	Provider  json.RawMessage `json:"auth-provider"`
}

type configContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

// flag is a boolean that may be a text as well: parseYAML returns every scalar as a string.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	switch strings.Trim(string(b), `"`) {
	case "true":
		*f = true
	case "false", "null", "":
		*f = false
	default:
		return fmt.Errorf("a flag is neither true nor false")
	}
	return nil
}

func readKubeconfig(path, context string) (*Cluster, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxConfig)
	}
	var k kubeconfig
	if err := k.decode(string(text)); err != nil {
		return nil, err
	}
	return k.cluster(filepath.Dir(path), cmp.Or(context, k.CurrentContext))
}

// decode reads a file's text, JSON or YAML. Its errors show none of it.
func (k *kubeconfig) decode(text string) error {
	b := []byte(text)
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") {
		tree, err := parseYAML(text)
		if err == nil {
			b, err = json.Marshal(tree)
		}
		if err != nil {
			return fmt.Errorf("%w; \"kubectl config view --raw --flatten --minify -o json\" "+
				"writes a form that is read", err)
		}
	}
	if err := json.Unmarshal(b, k); err != nil {
		return fmt.Errorf("not in the form of a kubeconfig: %T", err)
	}
	return nil
}

// cluster returns the Cluster that a context describes. Relative paths start at the folder dir.
func (k *kubeconfig) cluster(dir, context string) (*Cluster, error) {
	if context == "" {
		return nil, fmt.Errorf("there is no current-context, want the name of a context")
	}
	var at *configContext
	var cluster *configCluster
	user := &configUser{}
	for i := range k.Contexts {
		if k.Contexts[i].Name == context {
			at = &k.Contexts[i].Context
		}
	}
	if at == nil {
		return nil, fmt.Errorf("there is no context %q", context)
	}
	for i := range k.Clusters {
		if k.Clusters[i].Name == at.Cluster {
			cluster = &k.Clusters[i].Cluster
		}
	}
	if cluster == nil {
		return nil, fmt.Errorf("context %q: there is no cluster %q", context, at.Cluster)
	}
	found := at.User == ""
	for i := range k.Users {
		if k.Users[i].Name == at.User {
			user, found = &k.Users[i].User, true
		}
	}
	if !found {
		return nil, fmt.Errorf("context %q: there is no user %q", context, at.User)
	}
	if err := cluster.unsupported(); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", at.Cluster, err)
	}
	if err := user.unsupported(); err != nil {
		return nil, fmt.Errorf("user %q: %w", at.User, err)
	}
	a := access{
		server: cluster.Server, serverName: cluster.Name, insecure: bool(cluster.Insecure),
		namespace: cmp.Or(at.Namespace, "default"),
		caFile:    within(dir, cluster.CAFile), token: user.Token,
		tokenFile: within(dir, user.TokenFile),
		certFile:  within(dir, user.CertFile), keyFile: within(dir, user.KeyFile),
	}
	for _, d := range []struct {
		field, text string
		to          *[]byte
	}{
		{"certificate-authority-data", cluster.CAData, &a.ca},
		{"client-certificate-data", user.CertData, &a.cert},
		{"client-key-data", user.KeyData, &a.key},
	} {
		b, err := base64.StdEncoding.DecodeString(d.text)
		if err != nil {
			return nil, fmt.Errorf("context %q: %s is not in base64", context, d.field)
		}
		*d.to = b
	}
	c, err := a.cluster()
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", context, err)
	}
	return c, nil
}

// within returns path, which starts at the folder dir if it is relative.
func within(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// otherwise says what a user can do where a login is not supported.
const otherwise = "which is not supported: use a token or a client certificate, or a Cluster " +
	"with your own Client"

// unsupported returns an error if the cluster has a field that must not be ignored.
func (c *configCluster) unsupported() error {
	if c.ProxyURL != "" {
		return fmt.Errorf("it has proxy-url, which is not supported: set HTTPS_PROXY, or use a " +
			"Cluster with your own Client")
	}
	return nil
}

// unsupported returns an error if the user has a field that must not be ignored.
func (u *configUser) unsupported() error {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"exec", set(u.Exec)}, {"auth-provider", set(u.Provider)},
		{"username", u.Username != ""}, {"as", u.As != ""},
	} {
		if f.has {
			return fmt.Errorf("it has %s, %s", f.name, otherwise)
		}
	}
	return nil
}

// set reports whether a field has a value.
func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

package kubernetes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseYAML reads the part of YAML that kubectl and the clouds' tools write kubeconfig files in:
// mappings and sequences in block style, with plain and quoted scalars on one line. Mappings become
// map[string]any, sequences []any, scalars string, and null is nil. Everything else is an error
// that names the line and does not quote it, since a kubeconfig holds secrets.
func parseYAML(text string) (any, error) {
	p := &yamlParser{}
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimRight(raw, " \t\r")
		content := strings.TrimLeft(raw, " ")
		if strings.HasPrefix(content, "\t") {
			return nil, fmt.Errorf("line %d: a tab, want spaces", i+1)
		}
		if content == "" || content[0] == '#' || content == "---" && len(p.lines) == 0 {
			continue
		}
		p.lines = append(p.lines, yamlLine{i + 1, len(raw) - len(content), content})
	}
	if len(p.lines) == 0 {
		return nil, errors.New("the file is empty")
	}
	v, err := p.block(p.lines[0].indent, 0)
	if err == nil && len(p.lines) > 0 {
		err = p.lines[0].errorf("the indentation fits nothing above")
	}
	return v, err
}

// maxYAMLDepth bounds how deep collections are nested.
const maxYAMLDepth = 32

// yamlLine is a line that has content.
type yamlLine struct {
	number, indent int
	content        string
}

// errorf returns an error that names the line.
func (l yamlLine) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", l.number, fmt.Sprintf(format, args...))
}

// yamlParser holds the lines that are not read yet.
type yamlParser struct{ lines []yamlLine }

// block reads a mapping or a sequence whose lines have the given indent.
func (p *yamlParser) block(indent, depth int) (any, error) {
	if depth > maxYAMLDepth {
		return nil, p.lines[0].errorf("more than %d levels", maxYAMLDepth)
	}
	if isItem(p.lines[0].content) {
		return p.sequence(indent, depth)
	}
	return p.mapping(indent, depth)
}

// isItem reports whether a line begins an item of a sequence.
func isItem(content string) bool { return content == "-" || strings.HasPrefix(content, "- ") }

// sequence reads the items that have the given indent.
func (p *yamlParser) sequence(indent, depth int) (any, error) {
	list := []any{}
	for len(p.lines) > 0 && p.lines[0].indent == indent && isItem(p.lines[0].content) {
		l := &p.lines[0]
		rest := strings.TrimLeft(l.content[1:], " ")
		var v any
		var err error
		if _, _, ok := splitKey(rest); ok || isItem(rest) {
			// The item is a collection whose first line is the rest of this one.
			l.indent += len(l.content) - len(rest)
			l.content = rest
			v, err = p.block(l.indent, depth+1)
		} else {
			v, err = p.value(rest, indent+1, depth)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// mapping reads the keys that have the given indent, and their values.
func (p *yamlParser) mapping(indent, depth int) (any, error) {
	m := map[string]any{}
	for len(p.lines) > 0 && p.lines[0].indent == indent && !isItem(p.lines[0].content) {
		l := p.lines[0]
		key, rest, ok := splitKey(l.content)
		if !ok {
			return nil, l.errorf("want a key and a colon")
		}
		if _, twice := m[key]; twice {
			return nil, l.errorf("a key for the second time")
		}
		// A sequence in a mapping may have the indent of its key.
		least := indent + 1
		if len(p.lines) > 1 && p.lines[1].indent == indent && isItem(p.lines[1].content) {
			least = indent
		}
		v, err := p.value(rest, least, depth)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

// value reads what follows a key or a hyphen: rest, which is the rest of the line, or the block
// below it if that is indented by least or more. Without either the value is nil.
func (p *yamlParser) value(rest string, least, depth int) (any, error) {
	l := p.lines[0]
	p.lines = p.lines[1:]
	if rest != "" && rest[0] != '#' {
		return scalar(l, rest)
	}
	if len(p.lines) == 0 || p.lines[0].indent < least {
		return nil, nil
	}
	return p.block(p.lines[0].indent, depth+1)
}

// splitKey cuts a line of a mapping after its key and returns what follows the colon. ok reports
// whether the line has a key.
func splitKey(content string) (key, rest string, ok bool) {
	if content == "" {
		return "", "", false
	}
	var end int
	if q := content[0]; q == '"' || q == '\'' {
		closing := strings.IndexByte(content[1:], q)
		if closing < 0 {
			return "", "", false
		}
		key, end = content[1:1+closing], closing+2
		if !strings.HasPrefix(content[end:], ":") {
			return "", "", false
		}
	} else {
		end = strings.Index(content, ": ")
		if end < 0 && strings.HasSuffix(content, ":") {
			end = len(content) - 1
		}
		if end <= 0 {
			return "", "", false
		}
		key = content[:end]
	}
	rest = content[end+1:]
	if rest != "" && rest[0] != ' ' {
		return "", "", false
	}
	return key, strings.TrimLeft(rest, " "), true
}

// scalar reads the scalar that text begins with. A comment may follow it on the line l.
func scalar(l yamlLine, text string) (any, error) {
	value, comment := text, ""
	switch c := text[0]; {
	case c == '"':
		quoted, err := strconv.QuotedPrefix(text)
		if err == nil {
			value, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return nil, l.errorf("a text in double quotes does not end, or has an escape that is " +
				"not read here")
		}
		comment = text[len(quoted):]
	case c == '\'':
		// A quote in the text is written twice.
		end := 1
		for ; end < len(text); end++ {
			if text[end] != '\'' {
				continue
			}
			if end+1 == len(text) || text[end+1] != '\'' {
				break
			}
			end++
		}
		if end >= len(text) {
			return nil, l.errorf("a text in single quotes does not end")
		}
		value, comment = strings.ReplaceAll(text[1:end], "''", "'"), text[end+1:]
	case strings.ContainsRune("{}[]&*!|>%@`", rune(c)):
		before, _, _ := strings.Cut(text, " #")
		switch strings.TrimSpace(before) {
		case "{}":
			return map[string]any{}, nil
		case "[]":
			return []any{}, nil
		}
		return nil, l.errorf("a form of YAML that is not read here")
	default:
		value, _, _ = strings.Cut(text, " #")
		value = strings.TrimRight(value, " ")
		if value == "null" || value == "~" {
			return nil, nil
		}
	}
	if comment = strings.TrimLeft(comment, " "); comment != "" && comment[0] != '#' {
		return nil, l.errorf("something follows a text in quotes")
	}
	return value, nil
}

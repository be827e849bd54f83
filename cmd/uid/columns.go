package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columns prints rows under a heading, line by line: a table of any length, in constant memory. The widths are set
// beforehand from what the layout can hold, so every row lines up with the heading.
type columns struct {
	w     io.Writer
	width []int
	line  strings.Builder
}

// column is a heading and the width of the widest cell below it.
type column struct {
	title string
	width int
}

// newColumns prints the heading and returns the table.
func newColumns(w io.Writer, cols []column) (*columns, error) {
	c := &columns{w: w}
	titles := make([]string, len(cols))
	for i, col := range cols {
		titles[i] = col.title
		c.width = append(c.width, max(col.width, len(col.title)))
	}
	return c, c.row(titles...)
}

// row prints the cells of one line, two spaces apart.
func (c *columns) row(cells ...string) error {
	c.line.Reset()
	for i, cell := range cells {
		c.line.WriteString(cell)
		if i < len(cells)-1 {
			c.line.WriteString(strings.Repeat(" ", max(0, c.width[i]-utf8.RuneCountInString(cell))+2))
		}
	}
	c.line.WriteByte('\n')
	_, err := io.WriteString(c.w, c.line.String())
	return err
}

package repocheck

import (
	"regexp"
	"strings"
	"testing"
)

// terms is the list of words of the Chinese documents: one for each thing. others are words for the
// same thing that were in use, or come to mind.
var terms = []struct {
	english, chinese string
	others           []string
}{
	{"worker id", "工作节点号", []string{"worker id", "workerId", "机器 id", "工作号", "工作机器"}},
	{"authority", "授予方", []string{"权威方", "授权方", "号源"}},
	{"claim", "租约", []string{"申领", "声明"}},
	{"window", "窗口", []string{"窗期"}},
	{"fencing token", "隔离令牌", []string{"防护令牌", "栅栏"}},
	{"header", "表头", []string{"header"}},
	{"slot", "槽", []string{"slot"}},
	{"tick", "刻度", []string{"tick", "滴答"}},
	{"epoch", "起始时间", []string{"epoch", "起始时刻", "初始日期"}},
	{"era", "纪元", []string{"时代", "分代"}},
	{"layout", "布局", []string{"版式"}},
	{"sequence", "序列号", []string{"顺序号"}},
	{"gene", "基因", nil},
	{"lane", "通道", []string{"车道"}},
	{"lead", "超前量", []string{"领先量", "提前量"}},
	{"reach", "时限", nil},
	{"namespace", "命名空间", []string{"名字空间", "名称空间"}},
	{"universe of ids", "id 空间", []string{"宇宙"}},
	{"clock went back", "时钟回拨", []string{"时钟回退", "时钟倒流"}},
	{"segment, range", "号段", []string{"区段", "数段"}},
	{"tag", "标签", []string{"tag"}},
	{"step", "步长", []string{"step"}},
	{"ticket server", "发号服务器", []string{"ticket 服务器", "票据"}},
	{"duplicate", "重复", []string{"重号"}},
}

// latin matches code, links' targets and tables' code, in which words of Go and SQL stand.
var latin = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\([^)\\s]*\\)")

// TestTerms: the Chinese documents have one word for each thing. An English word in brackets after
// its first use is not another one.
func TestTerms(t *testing.T) {
	t.Parallel()
	all := ""
	for _, file := range find(t, func(path string) bool { return strings.HasSuffix(path, ".zh-CN.md") }) {
		text := latin.ReplaceAllString(benchPattern.ReplaceAllString(read(t, file), ""), "")
		all += text
		for _, term := range terms {
			for _, other := range term.others {
				word := regexp.MustCompile(`(^|[^A-Za-z_])` + regexp.QuoteMeta(other) + `($|[^A-Za-z_])`)
				for line := range strings.SplitSeq(text, "\n") {
					line = strings.ReplaceAll(line, "（"+term.english+"）", "")
					if word.MatchString(line) {
						t.Errorf("%s says %q for %s, want %q: %s", file, other, term.english, term.chinese, line)
					}
				}
			}
		}
	}
	for _, term := range terms {
		if !strings.Contains(all, term.chinese) {
			t.Errorf("no page says %q for %s: correct the list", term.chinese, term.english)
		}
	}
}

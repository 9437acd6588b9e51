#include "report/page.h"

#include "report/svg.h"

namespace autoccl::page {
namespace {

constexpr const char* kStyle = R"css(
:root{--ink:#1f2733;--soft:#5b6675;--line:#e3e7ed;--ground:#f6f7f9;--paper:#fff;--blue:#0b6e99;
--good:#2f7d4f;--bad:#b53d33;--warm:#fdf6ec}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
header h1{margin:0 0 2px;font-size:26px;letter-spacing:-.01em}
header p{margin:0;color:var(--soft)}
header code{color:var(--ink);overflow-wrap:anywhere}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
h2{margin:0 0 2px;font-size:18px}
section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:18px 20px;
margin-top:16px}
section>p.lead{margin:0 0 12px;color:var(--soft);max-width:75ch}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(175px,1fr));gap:12px;margin-top:18px}
.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.card .name{color:var(--soft);font-size:13px}
.card .figure{font-size:25px;font-weight:650;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.card .remark{color:var(--soft);font-size:13px}
.good .figure{color:var(--good)}.bad .figure{color:var(--bad)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:14px 22px}
.figures svg{width:100%;height:auto;display:block}
.scroll{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums;min-width:100%}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--line);
white-space:nowrap}
th,td{padding:5px 14px 5px 0;vertical-align:top}
td{border-bottom:1px solid #f0f2f5}
td.num,td:first-child{white-space:nowrap}
td:last-child:not(.num){min-width:24ch}
td.num,th.num{text-align:right}
tr:last-child td{border-bottom:0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:8px 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
details{border-top:1px solid var(--line);padding:10px 0}
details:first-of-type{border-top:0}
summary{cursor:pointer;font-weight:600}
summary span{color:var(--soft);font-weight:400;margin-left:10px}
ul.notes{margin:6px 0;padding-left:20px}
ul.warn{background:var(--warm);border-radius:8px;padding:10px 14px 10px 32px}
footer{color:var(--soft);font-size:13px;margin-top:22px}
@media (max-width:600px){main{padding:18px 12px 40px}section{padding:14px}header h1{font-size:22px}
.cards{grid-template-columns:1fr 1fr}.card{padding:10px 12px}.card .figure{font-size:20px}
dl{grid-template-columns:1fr}dd{margin-bottom:6px}summary span{display:block;margin:0}}
@media print{body{background:#fff}section,.card{break-inside:avoid}}
)css";

}  // namespace

std::string cards(const std::vector<Card>& all) {
  std::string out = "<div class=\"cards\">\n";
  for (const Card& c : all) {
    out += "<div class=\"card " + escaped(c.tone) + "\"><div class=\"name\">" + escaped(c.name) +
           "</div><div class=\"figure\">" + escaped(c.figure) + "</div><div class=\"remark\">" +
           escaped(c.remark) + "</div></div>\n";
  }
  return out + "</div>\n";
}

std::string table(const Table& t) {
  const auto numeric = [&](size_t i) {
    return i < t.right.size() && t.right[i] ? " class=\"num\"" : "";
  };
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (size_t i = 0; i < t.heads.size(); ++i)
    out += std::string("<th") + numeric(i) + ">" + escaped(t.heads[i]) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : t.rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += std::string("<td") + numeric(i) + ">" + escaped(row[i]) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string section(std::string_view id, std::string_view title, std::string_view lead,
                    const std::string& body) {
  std::string out = "<section id=\"" + escaped(id) + "\"><h2>" + escaped(title) + "</h2>\n";
  if (!lead.empty()) out += "<p class=\"lead\">" + escaped(lead) + "</p>\n";
  return out + body + "</section>\n";
}

std::string figures(const std::vector<std::string>& svgs) {
  std::string out = "<div class=\"figures\">\n";
  for (const std::string& svg : svgs) out += "<div>" + svg + "</div>\n";
  return out + "</div>\n";
}

std::string fold(const std::string& title, const std::string& remark, const std::string& body,
                 bool open) {
  return std::string("<details") + (open ? " open" : "") + "><summary>" + escaped(title) +
         "<span>" + escaped(remark) + "</span></summary>\n" + body + "</details>\n";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out = "<dl>";
  for (const auto& [name, value] : pairs)
    out += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>\n";
  return out + "</dl>\n";
}

std::string list(const std::vector<std::string>& sentences, std::string_view tone) {
  std::string out = "<ul class=\"notes " + escaped(tone) + "\">\n";
  for (const std::string& s : sentences) out += "<li>" + escaped(s) + "</li>\n";
  return out + "</ul>\n";
}

std::string document(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n<style>" + kStyle + "</style></head>\n<body><main>\n" + body +
         "</main></body></html>\n";
}

}  // namespace autoccl::page

#include "Page.h"

const char *const para::kStyle = R"css(
:root{--bg:#faf9f6;--card:#fff;--ink:#1d2228;--dim:#6a737d;--line:#e3e0d8;--soft:#f0eee8;--accent:#2f6fd0;--ok:#1f8a5b;--bad:#c23b3b;
--f:#4d80d6;--b:#2b9c8d;--w:#86c9bd;--x:#e0873a;--s:#9a7ad2;--g:#d1a021;--u:#cf5577;--z:#b77fc9;--m:#3c8eb2;--idle:#ebe8e0;
--mp:#4d80d6;--mg:#d1a021;--mo:#cf5577;--ma:#2b9c8d;--mz:#9a7ad2;--mt:#8b95a3;--mi:#b59f84;--mr:#6d6a8c;--fixed:#9db3d6;--sl:50%;--ll:53%}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--card:#1b1f25;--ink:#e7e9ec;--dim:#98a1ac;--line:#2d333b;--soft:#22272e;--accent:#7aa9f0;--ok:#52c48f;--bad:#f07f7f;
--f:#5b8fe6;--b:#35ac9c;--w:#2c7068;--x:#e5964f;--s:#a98be0;--g:#d9ae3c;--u:#e06a8b;--z:#c595d6;--m:#4a9cc0;--idle:#23282f;--fixed:#4c628a;--ll:60%}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1140px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:clamp(1.6rem,4.5vw,2.5rem);line-height:1.15;margin:.1em 0 .3em;letter-spacing:-.02em;overflow-wrap:anywhere}
h1 span{color:var(--dim);font-weight:400}
h2{font-size:1.35rem;margin:0 0 .2em;letter-spacing:-.01em}
h3{font-size:1rem;margin:1.2em 0 .4em}
p{margin:.4em 0}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{overflow-wrap:anywhere}code.flag{white-space:nowrap;margin-right:.7em}
.eyebrow{color:var(--dim);font-size:.8rem;letter-spacing:.08em;text-transform:uppercase;margin:0}
.sub,.lead,.note,.caption{color:var(--dim);max-width:80ch}
.sub b{color:var(--ink)}
.caption{font-size:.9rem;margin-top:1.2em}
.dim,small{color:var(--dim)}
b.ok,.sub b.ok{color:var(--ok)}b.bad,.sub b.bad{color:var(--bad)}
section{position:relative;margin-top:28px;background:var(--card);border:1px solid var(--line);border-radius:14px;padding:22px 24px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:14px 16px;display:flex;flex-direction:column}
.card span:first-child{color:var(--dim);font-size:.85rem}
.card strong{font-size:1.6rem;line-height:1.25;letter-spacing:-.02em;font-variant-numeric:tabular-nums;white-space:nowrap}
.gauge{display:block;height:6px;border-radius:3px;background:var(--idle);margin-top:8px;overflow:hidden}
.gauge i{display:block;height:100%;background:var(--ma)}.gauge i.over{background:var(--bad)}
.bar{position:relative;display:flex;height:22px;border-radius:5px;background:var(--idle);overflow:hidden}
.bar i{height:100%}
.bar.whole{height:16px;border-radius:8px}
.bar b.room{position:absolute;top:0;bottom:0;width:2px;background:var(--ink);opacity:.75;z-index:1}
.pc{background:var(--f)}.px{background:var(--x)}.pg{background:var(--z)}.pw{background:repeating-linear-gradient(45deg,var(--line) 0 4px,var(--idle) 4px 8px)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:10px 0 0;font-size:.88rem;color:var(--dim)}
.legend b{color:var(--ink);font-variant-numeric:tabular-nums}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.mp{background:var(--mp)}.mg{background:var(--mg)}.mo{background:var(--mo)}i.ma{background:var(--ma)}.mz{background:var(--mz)}.mt{background:var(--mt)}.mi{background:var(--mi)}.mr{background:var(--mr)}i.mfixed{background:var(--fixed)}
.legend i.roomkey{width:2px;background:var(--ink);border-radius:0;margin:0 11px 0 5px}
.legend i.roomline{height:0;border-top:2px solid var(--ink);vertical-align:4px;border-radius:0}.legend i.peakkey{height:0;border-top:2px dashed var(--ink);vertical-align:4px;border-radius:0}
.axes{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:10px;margin:14px 0}
.axis{border:1px solid var(--line);border-left:4px solid var(--accent);border-radius:8px;padding:8px 12px;background:var(--soft)}
.axis.one{border-left-color:var(--line)}.axis.one strong,.axis.one b{color:var(--dim)}
.axis strong{font-size:1.25rem;margin-left:.3em}
.axis span{display:block;color:var(--dim);font-size:.85rem;line-height:1.35}
.dim{white-space:nowrap}.stage p.dim,tr.dim{white-space:normal}
.strip{display:flex;height:34px;border-radius:6px;overflow:hidden;gap:1px;background:var(--card)}
.strip i{min-width:0;flex-basis:0;background:hsl(var(--h) var(--sl) var(--ll))}
.stages{display:grid;gap:10px;margin-top:10px}
.stage{display:grid;grid-template-columns:76px minmax(220px,1fr) minmax(0,1.3fr);gap:4px 16px;align-items:start;border-left:4px solid hsl(var(--h) var(--sl) var(--ll));padding:4px 0 4px 12px}
.stage h3{margin:0;font-size:.95rem}
.stage p{margin:0}.nodesof{font-size:.8rem;color:var(--dim)}.nodesof code{font-size:12px}
.stage .dim{font-size:.85rem}
.nodes{display:flex;flex-wrap:wrap;gap:8px}
.node{border:1px solid var(--line);border-radius:8px;padding:5px 6px;background:var(--soft)}
.node>small{display:block;font-size:.7rem;line-height:1.2;margin-bottom:3px}
.group{display:inline-flex;flex-wrap:wrap;border-radius:4px;overflow:hidden;gap:1px;margin:0 4px 4px 0;vertical-align:top}.group:last-child{margin-right:0}
.group i{font:500 11px/20px ui-monospace,Menlo,Consolas,monospace;min-width:22px;padding:0 2px;text-align:center;color:#fff;background:hsl(var(--h) 46% 42%)}
.group em,.more{font-style:normal;font-size:.8rem;color:var(--dim);padding:0 4px}
.more{align-self:center}
.tl{display:grid;grid-template-columns:84px minmax(0,1fr);gap:0 10px;margin-top:10px}
.labels span{display:block;height:34px;font-size:.85rem;line-height:17px;border-left:3px solid hsl(var(--h) var(--sl) var(--ll));padding-left:8px;margin-bottom:6px;white-space:nowrap}
.labels small{display:block;font-size:.75rem}
.lanes{overflow-x:auto;min-width:0}
.zoomed{width:100%}
.lane{display:block;width:100%;height:34px;margin-bottom:6px;background:var(--idle);border-radius:4px}
.memory .labels span,.memory .lane{height:54px}
.axisline{display:flex;justify-content:space-between;font-size:.75rem;color:var(--dim);border-top:1px solid var(--line);padding-top:3px;font-variant-numeric:tabular-nums}
.f{fill:var(--f)}.b{fill:var(--b)}.w{fill:var(--w)}.x{fill:var(--x)}.s{fill:var(--s)}.g{fill:var(--g)}.u{fill:var(--u)}.z{fill:var(--z)}.m{fill:var(--m)}
.kf{background:var(--f)}.kb{background:var(--b)}.kw{background:var(--w)}.kx{background:var(--x)}.ks{background:var(--s)}.kg{background:var(--g)}.ku{background:var(--u)}.kz{background:var(--z)}.km{background:var(--m)}
.lane rect:hover{opacity:.75}
path.ma{fill:var(--ma)}.lane rect.mfixed{fill:var(--fixed);stroke:none}
.mpeak,.mroom{fill:none;stroke:var(--ink);stroke-width:1.5;vector-effect:non-scaling-stroke}.mpeak{stroke-dasharray:5 4}
.zoom{position:absolute;top:20px;right:24px;color:var(--dim);font-size:.85rem;margin:0}
button{font:inherit;font-size:.8rem;border:1px solid var(--line);background:var(--soft);color:var(--ink);border-radius:6px;padding:2px 9px;margin-left:4px;cursor:pointer}
button:hover{border-color:var(--accent)}button.on{border-color:var(--accent);color:var(--accent)}
.js{display:none}.scripted .js{display:revert}
.bars{display:grid;gap:6px;margin:12px 0}
.barrow{display:grid;grid-template-columns:84px minmax(0,1fr) 84px;gap:10px;align-items:center;font-size:.85rem}
.barrow>span:first-child{border-left:3px solid hsl(var(--h) var(--sl) var(--ll));padding-left:8px;white-space:nowrap}
.scroll{overflow-x:auto;margin:10px -24px 0;padding:0 24px}
.scroll.tall{max-height:560px;overflow-y:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem}
th{text-align:left;font-weight:600;color:var(--dim);border-bottom:1px solid var(--line);padding:6px 10px 6px 0;white-space:nowrap;vertical-align:bottom}
.tall th{position:sticky;top:0;background:var(--card);z-index:1}
td{border-bottom:1px solid var(--line);padding:6px 10px 6px 0;vertical-align:top}
tr:last-child td{border-bottom:0}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.mesh{white-space:nowrap;color:var(--dim)}td.kind{white-space:nowrap}td.why{min-width:230px}td.plan{min-width:200px}
tr.chosen td{background:color-mix(in srgb,var(--ok) 12%,transparent)}tr.chosen td:first-child{font-weight:600}
tr.out{color:var(--dim)}
.scripted .sortable th{cursor:pointer}.sortable th[aria-sort=ascending]:after{content:" ▲";font-size:.7em}.sortable th[aria-sort=descending]:after{content:" ▼";font-size:.7em}
.share{display:block;height:8px;border-radius:4px;background:var(--idle);overflow:hidden;min-width:60px}
td.share{display:table-cell;background:none;width:34%;vertical-align:middle}
.share i{display:block;height:8px;border-radius:4px;background:var(--f)}.share i.sends{background:var(--x)}
.costs details{border-bottom:1px solid var(--line)}.costs details:last-child{border:0}
.costs summary{display:grid;grid-template-columns:minmax(0,1fr) auto 140px 60px;gap:14px;align-items:center;padding:9px 0;cursor:pointer}
.costs summary b{overflow-wrap:anywhere}
.costs table{margin:0 0 12px 16px;width:calc(100% - 16px)}
.whatifs{display:grid;gap:2px}
.whatifs div{display:grid;grid-template-columns:minmax(0,1.1fr) minmax(80px,1fr) 76px;gap:2px 14px;align-items:center;padding:8px 0;border-bottom:1px solid var(--line)}
.whatifs div:last-child{border:0}
.whatifs strong{text-align:right;font-variant-numeric:tabular-nums}
.whatifs .share i{background:var(--ok)}
.whatifs p{grid-column:1/-1;color:var(--dim);font-size:.88rem;margin:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:8px 32px}
.two ul{padding-left:1.1em;margin:.2em 0}.two li{margin:.35em 0}
details>summary{cursor:pointer}
.copy{position:relative}.copy button{position:absolute;top:8px;right:8px}
pre{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:12px 14px;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
@media(max-width:640px){main{padding:20px 14px 40px}section{padding:16px 14px;border-radius:12px}.scroll{margin:10px -14px 0;padding:0 14px}
.stage{grid-template-columns:1fr}.strip{gap:.4px}.card:last-child:nth-child(odd){grid-column:1/-1}.cards{grid-template-columns:1fr 1fr}.card strong{font-size:1.3rem}.zoom{position:static}
.tl{grid-template-columns:78px minmax(0,1fr);gap:0 6px}.barrow{grid-template-columns:62px minmax(0,1fr) 68px;gap:8px}
.costs summary{grid-template-columns:minmax(0,1fr) auto}.costs summary .share{grid-column:1}td.share{width:20%}
.whatifs div{grid-template-columns:minmax(0,1fr) 76px}.whatifs .share{grid-row:2;grid-column:1/-1}}
@media print{section{break-inside:avoid}.js{display:none!important}}
)css";

const char *const para::kScript = R"js(
document.documentElement.classList.add('scripted');
for (const table of document.querySelectorAll('table.sortable'))
  table.tHead.querySelectorAll('th').forEach((head, column) => head.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending', body = table.tBodies[0];
    table.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = row => { const cell = row.cells[column]; return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent; };
    [...body.rows].sort((a, b) => { const x = key(a), y = key(b), order = typeof x === 'number' ? x - y : x.localeCompare(y); return down ? -order : order; })
      .forEach(row => body.append(row));
  }));
for (const button of document.querySelectorAll('[data-zoom]'))
  button.addEventListener('click', () => {
    document.querySelectorAll('[data-zoom]').forEach(other => other.classList.toggle('on', other === button));
    document.querySelectorAll('#timeline .zoomed').forEach(lane => lane.style.width = button.dataset.zoom * 100 + '%');
  });
for (const button of document.querySelectorAll('[data-copy]'))
  button.addEventListener('click', () => navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
    .then(() => { button.textContent = 'copied'; setTimeout(() => button.textContent = 'copy', 1500); }));
)js";

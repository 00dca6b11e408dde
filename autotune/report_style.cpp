#include "tilewright/autotune/report_style.h"

namespace tilewright::tune {

std::string_view report_style() {
  return R"css(:root {
  --page: #fbfbfa; --card: #ffffff; --ink: #1c1e21; --soft: #5d6670; --line: #e2e4e7;
  --dot: #3f74b5; --winner: #d9580d; --bar: #a9c1de; --code: #f3f4f5; --warn: #8a4b00; --warnbg: #fff3e0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15171a; --card: #1d2024; --ink: #e6e8ea; --soft: #9aa4af; --line: #33383e;
    --dot: #7fb0ea; --winner: #ff9149; --bar: #41638c; --code: #262a2f; --warn: #ffc27a; --warnbg: #3a2a14;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px; max-width: 1180px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
section { margin-bottom: 56px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h1 .device { color: var(--soft); font-weight: 400; }
h2 { font-size: 18px; margin: 36px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
p { margin: 6px 0; }
.specs, .none, footer, small, figcaption { color: var(--soft); }
.specs { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; }
.warning { color: var(--warn); background: var(--warnbg); padding: 8px 12px; border-radius: 6px; }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12.5px; }
code.config { background: var(--code); padding: 3px 7px; border-radius: 4px; }
.numbers { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0; }
.number { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px;
  min-width: 150px; display: flex; flex-direction: column; }
.number b { font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0; padding: 12px 14px; }
figcaption { font-size: 13px; margin-bottom: 6px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 14px; }
.effects { display: grid; grid-template-columns: repeat(auto-fill, minmax(270px, 1fr)); gap: 14px; margin-top: 10px; }
.effects figcaption { color: var(--ink); font-weight: 600; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.equal { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 5 4; }
.tick { fill: var(--soft); font-size: 12px; }
.title { fill: var(--ink); font-size: 12.5px; }
.faint { fill: var(--soft); }
.dot { fill: var(--dot); fill-opacity: 0.7; }
.dot.winner { fill: var(--winner); fill-opacity: 1; stroke: var(--card); stroke-width: 1.5; }
.line { fill: none; stroke: var(--dot); stroke-width: 2; }
.bar { fill: var(--bar); }
.bar.chosen { fill: var(--winner); }
.tick.chosen { fill: var(--winner); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-size: 13px; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.winner td { color: var(--winner); font-weight: 600; }
td code { overflow-wrap: anywhere; }
pre.reason { margin: 0; white-space: pre-wrap; max-width: 560px; max-height: 160px; overflow: auto; }
pre.cuda { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px; overflow-x: auto;
  line-height: 1.4; max-height: 900px; }
details summary { cursor: pointer; color: var(--soft); }
a { color: var(--dot); }
)css";
}

}  // namespace tilewright::tune

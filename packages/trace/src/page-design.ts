import { Html } from './html-template.ts';

/** Style sheet of the page, for light and dark mode. */
export const pageStyle: Html = new Html(`
:root{color-scheme:light dark;--ink:#1c2430;--soft:#667085;--line:#dfe3ea;--paper:#fff;--shade:#f5f7fa;
--agent:#5b5bd6;--model:#0e7c9b;--tool:#a67c00;--reward:#2b8a3e;--wrong:#c92a2a;--other:#8a94a6}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#2c3440;--paper:#11161d;--shade:#1a212b;
--agent:#9b9bff;--model:#4cc3e0;--tool:#e0b84c;--reward:#69c77c;--wrong:#ff8a8a;--other:#7b8698}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:1280px;font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.25rem;margin:0 0 .5rem;overflow-wrap:anywhere}h3{font-size:.8rem;margin:.8rem 0 .3rem;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.sum{color:var(--soft)}.tools{display:flex;gap:.75rem;align-items:center}
button,input{font:inherit;color:inherit;background:var(--shade);border:1px solid var(--line);border-radius:6px;padding:.2rem .6rem}
.step>details>summary{display:grid;grid-template-columns:minmax(14rem,24rem) 1fr 14rem;gap:1rem;align-items:center;
list-style:none;cursor:pointer;padding:.25rem .5rem;border-top:1px solid var(--line)}
.step>details>summary::-webkit-details-marker{display:none}
.step>details>summary:hover{background:var(--shade)}
.name{padding-left:calc(var(--depth)*1.1rem);overflow:hidden;text-overflow:ellipsis;white-space:nowrap;border-left:3px solid var(--c)}
.name b{padding-left:.5rem}.name i{color:var(--soft);font-style:normal;font-size:.8rem}
.facts{display:flex;gap:.6rem;overflow:hidden;white-space:nowrap;color:var(--soft);font-size:.85rem}
.fact.text,.fact.call{overflow:hidden;text-overflow:ellipsis;color:var(--ink)}
.fact.error{color:var(--wrong)}.fact.warning{color:var(--tool)}.fact.reward{color:var(--reward);font-weight:600}
.track{position:relative;height:.7rem;background:var(--shade);border-radius:4px;overflow:hidden}
.bar{position:absolute;top:0;bottom:0;min-width:2px;background:var(--c);border-radius:4px}
.step{--c:var(--other)}.agent,.rollout{--c:var(--agent)}.model-call,.embedding{--c:var(--model)}
.tool-call,.operation,.retrieval{--c:var(--tool)}.reward{--c:var(--reward)}.step.error{--c:var(--wrong)}
.details{padding:.25rem 1rem 1rem calc(var(--depth)*1.1rem + 1.2rem)}
.wrong{color:var(--wrong);white-space:pre-wrap}.path{color:var(--soft);margin:.2rem 0}
.talk{display:grid;gap:.4rem}.said{padding:.4rem .7rem;border-radius:8px;background:var(--shade);max-width:60rem}
.said b{font-size:.75rem;color:var(--soft)}.said.output{border-left:3px solid var(--model)}
.part{white-space:pre-wrap;overflow-wrap:anywhere}.part.reasoning{color:var(--soft);font-style:italic}
.part.tool-call::before{content:"→ ";color:var(--tool)}.part.tool-result::before{content:"← ";color:var(--tool)}
.part.attachment::before{content:"⧉ "}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--shade);padding:.5rem .7rem;border-radius:8px;margin:0}
table{border-collapse:collapse;font-size:.8rem}th{text-align:left;font-weight:400;color:var(--soft);vertical-align:top;white-space:nowrap}
th,td{padding:.1rem .8rem .1rem 0}td{overflow-wrap:anywhere;white-space:pre-wrap}
.raw{margin-top:.8rem;color:var(--soft);font-size:.8rem}.hidden>details{display:none}
@media(max-width:800px){.step>details>summary{grid-template-columns:1fr}.track{display:none}}
`);

/** Opening, closing and finding steps. The page is whole without it. */
export const pageScript: Html = new Html(`
for (const button of document.querySelectorAll('[data-open]')) {
  button.addEventListener('click', () => {
    for (const step of document.querySelectorAll('.step>details')) step.open = button.dataset.open === 'all';
  });
}
document.getElementById('find').addEventListener('input', (event) => {
  const wanted = event.target.value.toLowerCase();
  for (const step of document.querySelectorAll('.step')) {
    step.classList.toggle('hidden', wanted !== '' && !step.textContent.toLowerCase().includes(wanted));
  }
});
`);

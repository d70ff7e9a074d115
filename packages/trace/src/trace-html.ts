import { stepDetails } from './html-details.ts';
import { type Html, html } from './html-template.ts';
import { pageScript, pageStyle } from './page-design.ts';
import { stepFacts } from './step-facts.ts';
import type { TraceStep } from './trace-step.ts';

/** What a page says above its trace. */
export interface TracePageOptions {
  /** @default 'Trace' */
  readonly title?: string;
  /** Lines of `name: value` under the title, such as the rollout's id and its task. @default {} */
  readonly facts?: Readonly<Record<string, string>>;
}

/** From when to when the steps went, in Unix milliseconds. */
interface TimeSpan {
  readonly startMs: number;
  /** At least a tenth of a millisecond, so that shares of it can be taken. */
  readonly lengthMs: number;
}

/**
 * Draws a trace as one HTML page that needs nothing else: a waterfall of the steps, and for each its messages,
 * tokens, rewards, arguments and attributes. It loads nothing and runs offline.
 *
 * @example
 * ```ts
 * await writeFile('trace.html', traceHtml(traceSteps(spans), { title: rolloutId }));
 * ```
 */
export function traceHtml(steps: readonly TraceStep[], options: TracePageOptions = {}): string {
  const { title = 'Trace', facts = {} } = options;
  const all = flat(steps);
  const place = { depth: 0, time: timeOf(all) };
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<dl>${Object.entries(facts).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<p class="sum">${summary(all)}</p>
<p class="tools"><button type="button" data-open="all">Open all</button> <button type="button" data-open="none">Close all</button>
<label>Find <input type="search" id="find" placeholder="text in a step"></label></p>
</header>
<main>${steps.map((step) => row(step, place))}</main>
${steps.length === 0 ? html`<p class="none">No spans were recorded.</p>` : null}
<script>${pageScript}</script>
</body>
</html>
`;
  return page.text;
}

function row(step: TraceStep, place: { readonly depth: number; readonly time: TimeSpan }): Html {
  const inner = { ...place, depth: place.depth + 1 };
  return html`<section class="step ${step.kind} ${step.outcome}" style="--depth:${place.depth}">
<details><summary><span class="name"><b>${step.title}</b> <i>${step.kind}</i></span>
<span class="facts">${stepFacts(step).map(({ kind, text }) => html`<span class="fact ${kind}">${text}</span>`)}</span>
${bar(step, place.time)}</summary>
<div class="details">${stepDetails(step)}</div></details>
${step.children.map((child) => row(child, inner))}</section>`;
}

function bar({ startTimeMs, endTimeMs }: TraceStep, time: TimeSpan): Html {
  if (startTimeMs === null) return html`<span class="track"></span>`;
  const left = ((startTimeMs - time.startMs) / time.lengthMs) * 100;
  const width = (((endTimeMs ?? startTimeMs) - startTimeMs) / time.lengthMs) * 100;
  return html`<span class="track"><span class="bar" style="left:${left.toFixed(2)}%;width:${width.toFixed(2)}%"></span></span>`;
}

function timeOf(steps: readonly TraceStep[]): TimeSpan {
  let startMs = Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { startTimeMs, endTimeMs } of steps) {
    startMs = Math.min(startMs, startTimeMs ?? startMs);
    endMs = Math.max(endMs, endTimeMs ?? startTimeMs ?? endMs);
  }
  return { startMs, lengthMs: Math.max(endMs - startMs, 0.1) };
}

function summary(steps: readonly TraceStep[]): string {
  const count = (kind: TraceStep['kind']): number => steps.filter((step) => step.kind === kind).length;
  const tokens = steps.reduce((sum, { tokens }) => sum + (tokens?.response ?? 0), 0);
  const rewards = steps.flatMap((step) => step.rewards);
  const last = rewards.at(-1);
  return [
    `${count('model-call')} model calls`,
    `${count('tool-call')} tool calls`,
    `${tokens} response tokens`,
    last === undefined ? 'no reward' : `reward ${last.value}`,
  ].join(' · ');
}

function flat(steps: readonly TraceStep[]): readonly TraceStep[] {
  return steps.flatMap((step) => [step, ...flat(step.children)]);
}

import { type Html, html } from './html-template.ts';
import { pageScript, pageStyle } from './page-design.ts';
import { stepFacts } from './step-facts.ts';
import type { TraceMessage, TraceStep } from './trace-step.ts';
import { traceSummary } from './trace-summary.ts';
import { type WalkedStep, walkSteps } from './walk-steps.ts';

/** Texts longer than this are cut on the page, in characters: a trace may hold images. */
const maxTextLength = 20_000;

/** Everything there is to see of a step: messages, arguments, tokens, rewards, errors, attributes. */
function stepDetails(step: TraceStep): Html {
  return html`${step.error === null ? null : html`<p class="wrong">${cut(step.error)}</p>`}
${step.stackTrace === null ? null : html`<pre>${cut(step.stackTrace)}</pre>`}
${step.agentPath.length === 0 ? null : html`<p class="path">${step.agentPath.join(' › ')}</p>`}
${conversation(step)}
${step.toolArguments === null ? null : html`<h3>Arguments</h3><pre>${cut(step.toolArguments)}</pre>`}
${step.toolResult === null ? null : html`<h3>Result</h3><pre>${cut(step.toolResult)}</pre>`}
${step.rewards.length === 0 ? null : html`<h3>Reward</h3>${table(step.rewards.map(({ name, value }) => [name, String(value)]))}`}
<details class="raw"><summary>span ${step.spanId} · ${Object.keys(step.attributes).length} attributes</summary>
${table(Object.entries(step.attributes).map(([name, value]) => [name, cut(valueText(value))]))}</details>`;
}

function conversation({ inputMessages, outputMessages }: TraceStep): Html | null {
  if (inputMessages.length === 0 && outputMessages.length === 0) return null;
  return html`<h3>Messages</h3><div class="talk">${inputMessages.map((message) => bubble(message, 'input'))}${outputMessages.map((message) => bubble(message, 'output'))}</div>`;
}

function bubble({ role, parts }: TraceMessage, side: 'input' | 'output'): Html {
  return html`<div class="said ${side}"><b>${role}</b>${parts.map(({ type, text }) => html`<div class="part ${type}">${cut(text)}</div>`)}</div>`;
}

function table(rows: readonly (readonly [string, string])[]): Html {
  return html`<table>${rows.map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>`;
}

function valueText(value: TraceStep['attributes'][string]): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function cut(text: string): string {
  if (text.length <= maxTextLength) return text;
  return `${text.slice(0, maxTextLength)}… (${text.length.toLocaleString('en')} characters in all)`;
}

/** Header of a page, above its trace. */
export interface TracePageOptions {
  /** @default 'Trace' */
  readonly title?: string;
  /** Lines of `name: value` under the title, such as the rollout's id and its task. @default {} */
  readonly facts?: Readonly<Record<string, string>>;
}

/** From when to when the steps went, in Unix milliseconds. */
interface TimeSpan {
  readonly startMs: number;
  /** At least a tenth of a millisecond, to avoid division by zero. */
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
  const walked = walkSteps(steps);
  const time = timeOf(walked.map(({ step }) => step));
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
<p class="sum">${traceSummary(steps)}</p>
<p class="tools"><button type="button" data-open="all">Open all</button> <button type="button" data-open="none">Close all</button>
<label>Find <input type="search" id="find" placeholder="text in a step"></label></p>
</header>
<main>${walked.map((item) => row(item, time))}</main>
${steps.length === 0 ? html`<p class="none">No spans were recorded.</p>` : null}
<script>${pageScript}</script>
</body>
</html>
`;
  return page.text;
}

/** Levels that are indented: deeper steps would leave the page. */
const maxIndent = 32;

/** One row. Rows are siblings, since browsers do not nest elements more than 512 levels deep. */
function row({ step, depth }: WalkedStep, time: TimeSpan): Html {
  return html`<section class="step ${step.kind} ${step.outcome}" style="--depth:${Math.min(depth, maxIndent)}" data-depth="${depth}">
<details><summary><span class="name"><b>${step.title}</b> <i>${step.kind}</i></span>
<span class="facts">${stepFacts(step).map(({ kind, text }) => html`<span class="fact ${kind}">${text}</span>`)}</span>
${bar(step, time)}</summary>
<div class="details">${stepDetails(step)}</div></details></section>`;
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

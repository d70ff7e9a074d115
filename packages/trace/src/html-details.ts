import { type Html, html } from './html-template.ts';
import type { TraceMessage, TraceStep } from './trace-step.ts';

/** Texts longer than this are cut on the page, in characters: a trace may hold images. */
const maxTextLength = 20_000;

/** Everything there is to see of a step: messages, arguments, tokens, rewards, errors, attributes. */
export function stepDetails(step: TraceStep): Html {
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

import type { TraceStep } from './trace-step.ts';

/** A short fact about a step. */
export interface StepFact {
  readonly kind: 'model' | 'tokens' | 'policy' | 'warning' | 'error' | 'reward' | 'call' | 'duration' | 'text';
  readonly text: string;
}

/** The facts of a step that are shown on one line, the most important first. */
export function stepFacts(step: TraceStep): readonly StepFact[] {
  return [
    ...modelFacts(step),
    ...callFacts(step),
    ...tokenFacts(step),
    ...rewardFacts(step),
    ...timeFacts(step),
    ...outcomeFacts(step),
  ];
}

function modelFacts({ requestedModel }: TraceStep): readonly StepFact[] {
  return requestedModel === null ? [] : [{ kind: 'model', text: `requested as ${shortened(requestedModel, 40)}` }];
}

function callFacts({ kind, toolArguments, toolResult, outputMessages }: TraceStep): readonly StepFact[] {
  if (kind === 'tool-call' || kind === 'operation') {
    const result = toolResult === null ? '' : ` → ${shortened(toolResult)}`;
    const text = `(${shortened(toolArguments ?? '')})${result}`;
    return toolArguments === null && toolResult === null ? [] : [{ kind: 'call', text }];
  }
  const parts = outputMessages.flatMap((message) => message.parts.filter(({ type }) => type !== 'reasoning'));
  return parts.length === 0 ? [] : [{ kind: 'text', text: `“${shortened(parts.map(({ text }) => text).join(' '))}”` }];
}

function tokenFacts({ tokens }: TraceStep): readonly StepFact[] {
  if (tokens === null) return [];
  const facts: StepFact[] = [];
  if (tokens.prompt !== null || tokens.response !== null) {
    facts.push({ kind: 'tokens', text: `${tokens.prompt ?? '?'} → ${tokens.response ?? '?'} tokens` });
  }
  const { policyVersion, newestPolicyVersion } = tokens;
  if (policyVersion !== null) {
    const newest = newestPolicyVersion === policyVersion ? '' : `–v${newestPolicyVersion}`;
    facts.push({ kind: 'policy', text: `policy v${policyVersion}${newest}` });
  }
  if (tokens.isTrainable === false) {
    facts.push({ kind: 'warning', text: `not trained on: ${tokens.untrainableReason ?? 'unknown reason'}` });
  }
  return facts;
}

function rewardFacts({ rewards }: TraceStep): readonly StepFact[] {
  return rewards.map(({ name, value }) => ({ kind: 'reward', text: `${name} ${value}` }));
}

function timeFacts({ kind, startTimeMs, endTimeMs }: TraceStep): readonly StepFact[] {
  // These are points in time.
  if (startTimeMs === null || endTimeMs === null || momentary.has(kind)) return [];
  return [{ kind: 'duration', text: durationText(endTimeMs - startTimeMs) }];
}

const momentary: ReadonlySet<TraceStep['kind']> = new Set(['reward', 'message', 'annotation', 'exception']);

function outcomeFacts({ outcome, error, stackTrace }: TraceStep): readonly StepFact[] {
  switch (outcome) {
    case 'ok':
      return [];
    case 'partial':
      return [{ kind: 'warning', text: 'stopped before its end' }];
    case 'abandoned':
      return [{ kind: 'warning', text: 'still open when the attempt ended' }];
    case 'error': {
      const place = stackTrace === null ? null : exceptionLocation(stackTrace);
      const at = place === null ? '' : ` at ${place}`;
      return [{ kind: 'error', text: `ERROR ${shortened(error ?? '')}${at}`.trimEnd() }];
    }
  }
}

/** A duration with its unit. */
export function durationText(timeMs: number): string {
  if (timeMs < 1000) return `${timeMs.toFixed(timeMs < 10 ? 1 : 0)} ms`;
  return timeMs < 60_000 ? `${(timeMs / 1000).toFixed(2)} s` : `${(timeMs / 60_000).toFixed(1)} min`;
}

/** The beginning of a text, on one line. */
export function shortened(text: string, length = 80): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join('')}…`;
}

/** The position in the agent's code that an exception was thrown from, as `file:line:column`; null when the stack has none. */
function exceptionLocation(stackTrace: string): string | null {
  for (const line of stackTrace.split('\n')) {
    const place = javaScriptFrame(line) ?? pythonFrame(line);
    if (place !== null && !/[\\/]node_modules[\\/]|^node:|[\\/]site-packages[\\/]/.test(place)) return place;
  }
  return null;
}

function javaScriptFrame(line: string): string | null {
  if (!/^\s+at /.test(line)) return null;
  const place = /(?:\(|at (?:async )?)([^()]+:\d+:\d+)\)?$/.exec(line)?.[1];
  return place === undefined ? null : place.replace(/^file:\/\//, '');
}

function pythonFrame(line: string): string | null {
  const [, file, lineNumber] = /^\s+File "(.+)", line (\d+)/.exec(line) ?? [];
  return file === undefined || lineNumber === undefined ? null : `${file}:${lineNumber}`;
}

import type { AgentStepKind } from '../../adapter/agent-step.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { objectsOf } from '../../base/json-access.ts';
import type { AttributeValue, Span } from '../../spans/span.ts';
import { agentLightningAttributes, genAiAttributes } from '../../spans/span-attributes.ts';

/** The spans of a scene, with queries for the contract. */
export class SceneTrace {
  readonly spans: readonly Span[];
  readonly #byId: ReadonlyMap<string, Span>;

  constructor(spans: readonly Span[]) {
    this.spans = spans;
    this.#byId = new Map(spans.map((span) => [span.spanId, span]));
  }

  get agents(): readonly Span[] {
    return this.of('agent');
  }

  get modelCalls(): readonly Span[] {
    return this.of('model-call');
  }

  get toolCalls(): readonly Span[] {
    return this.of('tool-call');
  }

  /** Spans of a kind, in start order. */
  of(kind: AgentStepKind): readonly Span[] {
    return this.spans
      .filter((span) => span.attributes[agentLightningAttributes.stepKind] === kind)
      .toSorted((left, right) => (left.startTimeMs ?? 0) - (right.startTimeMs ?? 0));
  }

  byId(spanId: string | undefined): Span | undefined {
    return spanId === undefined ? undefined : this.#byId.get(spanId);
  }

  /** Ancestors of a span, nearest first. */
  around(span: Span): readonly Span[] {
    const found: Span[] = [];
    for (let next = this.#byId.get(span.parentId ?? ''); next !== undefined; ) {
      found.push(next);
      next = this.#byId.get(next.parentId ?? '');
    }
    return found;
  }

  /** Step kinds of the ancestors of a span, nearest first; null for other spans. */
  kindsAround(span: Span): readonly (AttributeValue | null)[] {
    return this.around(span).map(({ attributes }) => attributes[agentLightningAttributes.stepKind] ?? null);
  }

  /** Name of the nearest enclosing agent. */
  agentAround(span: Span): AttributeValue | null {
    const agent = this.around(span).find(({ attributes }) => attributes[agentLightningAttributes.stepKind] === 'agent');
    return agent?.attributes[genAiAttributes.agentName] ?? null;
  }

  /** The trace as an indented tree, for messages of failing tests. */
  toString(parentId: string | null = null, indent: string = ''): string {
    const children = this.spans.filter((span) =>
      parentId === null ? !this.#byId.has(span.parentId ?? '') : span.parentId === parentId,
    );
    return children
      .map((span) => {
        const kind = span.attributes[agentLightningAttributes.stepKind] ?? '?';
        return `${indent}${kind}: ${span.name} [${span.status.code}]\n${this.toString(span.spanId, `${indent}  `)}`;
      })
      .join('');
  }
}

/** Messages in a span's attribute; empty without messages. */
export function messagesOf(span: Span | undefined, side: 'input' | 'output'): readonly JsonObject[] {
  const name = side === 'input' ? genAiAttributes.inputMessages : genAiAttributes.outputMessages;
  const text = span?.attributes[name];
  return typeof text === 'string' ? objectsOf(JSON.parse(text) as JsonValue) : [];
}

/** All parts of all messages of one side. */
export function partsOf(span: Span | undefined, side: 'input' | 'output'): readonly JsonObject[] {
  return messagesOf(span, side).flatMap(({ parts }) => objectsOf(parts));
}

/** Text of a span's messages of one side. */
export function textOf(span: Span | undefined, side: 'input' | 'output'): string {
  return partsOf(span, side)
    .filter(({ type }) => type === 'text')
    .map(({ content }) => String(content))
    .join('');
}

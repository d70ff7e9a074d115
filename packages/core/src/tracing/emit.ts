import { ValidationError } from '../base/agent-lightning-error.ts';
import { errorMessage } from '../base/error-message.ts';
import { exceptionAttributes } from '../spans/exception-attributes.ts';
import { flattenAttributes, type NestedAttributes } from '../spans/flatten-attributes.ts';
import type { Attributes, SpanStatus } from '../spans/span.ts';
import { agentLightningAttributes, isReservedAttribute, spanNames } from '../spans/span-attributes.ts';
import { type AttributeLinks, linkAttributes, tagAttributes } from '../spans/span-links.ts';
import { currentRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';

/** Options of all emitters. */
export interface EmitOptions {
  /** Further attributes; nested data is flattened. @default {} */
  readonly attributes?: Readonly<Record<string, NestedAttributes | undefined>>;
  /** The linked spans. @default {} the whole rollout */
  readonly links?: AttributeLinks;
  /** Tags for searching. @default [] */
  readonly tags?: readonly string[];
}

/**
 * Records facts about the rollout: strings, booleans and finite numbers, nested to any depth.
 *
 * Like all emitters it records a child of the active span, and does nothing outside of a rollout.
 *
 * @returns the span id; null outside of a rollout
 * @throws ValidationError with the path of an invalid leaf
 *
 * @example
 * ```ts
 * emitAnnotation({ retrieval: { hits: 3, sources: ['wiki', 'docs'] } });
 * ```
 */
export function emitAnnotation(annotation: NestedAttributes & object, options: EmitOptions = {}): string | null {
  return emitSpan(spanNames.annotation, { ...flattenAttributes(annotation), ...optionAttributes(options) });
}

/**
 * Records a text: a note, an intermediate result, a log line.
 *
 * @returns the span id; null outside of a rollout
 * @throws ValidationError when it is not a string
 *
 * @example
 * ```ts
 * emitMessage('The tool returned no result; retrying with a broader query.');
 * ```
 */
export function emitMessage(message: string, options: EmitOptions = {}): string | null {
  if (typeof message !== 'string') {
    throw new ValidationError('the message', [{ path: '', message: `must be a string, but is a ${typeof message}` }]);
  }
  return emitSpan(spanNames.message, {
    [agentLightningAttributes.messageBody]: message,
    ...optionAttributes(options),
  });
}

/**
 * Records a value with a JSON form, or bytes.
 *
 * @returns the span id; null outside of a rollout
 * @throws ValidationError when the value has no JSON form
 *
 * @example
 * ```ts
 * emitObject({ plan: ['search', 'read', 'answer'], budget: { calls: 3 } });
 * ```
 */
export function emitObject(value: unknown, options: EmitOptions = {}): string | null {
  return emitSpan(spanNames.object, { ...objectAttributes(value), ...optionAttributes(options) });
}

/**
 * Records an error that the agent handled. The runner records uncaught errors.
 *
 * @returns the span id; null outside of a rollout
 *
 * @example
 * ```ts
 * try {
 *   await search(query);
 * } catch (error) {
 *   emitException(error);
 * }
 * ```
 */
export function emitException(error: unknown, options: EmitOptions = {}): string | null {
  const attributes = { ...exceptionAttributes(error, false), ...optionAttributes(options) };
  return emitSpan(spanNames.exception, attributes, { code: 'ERROR', message: errorMessage(error) });
}

const okStatus: SpanStatus = { code: 'OK', message: null };

/**
 * Records a span without duration. Returns null outside of a rollout.
 *
 * @throws ValidationError for an attribute reserved for the recorder of model calls
 */
export function emitSpan(name: string, attributes: Attributes, status: SpanStatus = okStatus): string | null {
  const reserved = Object.keys(attributes).filter(isReservedAttribute);
  if (reserved.length > 0) {
    const message = 'is reserved for model calls that the gateway records; use another name';
    throw new ValidationError(
      'the attributes',
      reserved.map((path) => ({ path, message })),
    );
  }
  if (currentRollout() === null) return null;
  const span = tracer.startSpan(name, { attributes });
  span.setStatus(status);
  span.end();
  return span.spanId;
}

/** Attributes of the common emitter options. */
export function optionAttributes(options: EmitOptions): Attributes {
  return {
    ...flattenAttributes(options.attributes ?? {}),
    ...linkAttributes(options.links ?? {}),
    ...tagAttributes(options.tags ?? []),
  };
}

/** Type names and literals are those of the Python package, for compatibility with its readers. */
function objectAttributes(value: unknown): Attributes {
  const { objectType, objectLiteral, objectJson } = agentLightningAttributes;
  if (typeof value === 'string') return { [objectType]: 'str', [objectLiteral]: value };
  if (typeof value === 'boolean') return { [objectType]: 'bool', [objectLiteral]: String(value) };
  if (typeof value === 'number') {
    return { [objectType]: Number.isInteger(value) ? 'int' : 'float', [objectLiteral]: String(value) };
  }
  if (value instanceof Uint8Array) {
    const base64 = btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join(''));
    return { [objectType]: 'bytes', [objectLiteral]: base64 };
  }
  return { [objectType]: objectTypeName(value), [objectJson]: objectJsonText(value) };
}

function objectTypeName(value: unknown): string {
  if (value === null) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  const name = typeof value === 'object' ? value.constructor?.name : undefined;
  return name === undefined || name === 'Object' ? 'dict' : name;
}

function objectJsonText(value: unknown): string {
  const noJson = (reason: string, cause?: unknown): ValidationError =>
    new ValidationError('the object', [{ path: '', message: `has no JSON form: ${reason}` }], cause);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw noJson(errorMessage(error), error);
  }
  if (text === undefined) throw noJson(`it is ${typeof value}`);
  return text;
}

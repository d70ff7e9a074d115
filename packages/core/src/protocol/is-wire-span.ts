import { isAttributes } from './is-attributes.ts';
import { maxSequenceId } from './max-sequence-id.ts';
import type { WireSpan, WireSpanContext } from './wire-span.ts';

/**
 * Whether a value has the shape of `wireSpanSchema`, which says what is wrong where it has not. Looking by hand
 * takes a tenth of the time, and spans are most of what a store is sent.
 */
export function isWireSpan(value: unknown): value is WireSpan {
  if (!isObject(value)) return false;
  const { sequence_id, status, attributes, events, links, resource } = value;
  return (
    hasIds(value) &&
    (isAbsent(sequence_id) || isSequenceId(sequence_id)) &&
    isStatus(status) &&
    isAttributes(attributes) &&
    isListOf(events, isEvent) &&
    isListOf(links, isLink) &&
    isNumberOrAbsent(value['start_time']) &&
    isNumberOrAbsent(value['end_time']) &&
    isContextOrAbsent(value['context']) &&
    isContextOrAbsent(value['parent']) &&
    (resource === undefined || isResource(resource))
  );
}

function isSequenceId(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxSequenceId;
}

type Fields = Readonly<Record<string, unknown>>;

function hasIds({ rollout_id, attempt_id, trace_id, span_id, parent_id, name }: Fields): boolean {
  return (
    typeof rollout_id === 'string' &&
    typeof attempt_id === 'string' &&
    typeof trace_id === 'string' &&
    trace_id !== '' &&
    typeof span_id === 'string' &&
    span_id !== '' &&
    isTextOrAbsent(parent_id) &&
    typeof name === 'string'
  );
}

function isStatus(value: unknown): boolean {
  if (!isObject(value) || !isTextOrAbsent(value['description'])) return false;
  const code = value['status_code'];
  return code === 'OK' || code === 'UNSET' || code === 'ERROR';
}

function isEvent(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value['name'] === 'string' &&
    isAttributesOrAbsent(value['attributes']) &&
    isNumberOrAbsent(value['timestamp'])
  );
}

function isLink(value: unknown): boolean {
  return isObject(value) && isContext(value['context']) && isAttributesOrAbsent(value['attributes']);
}

function isResource(value: unknown): boolean {
  return isObject(value) && isAttributes(value['attributes']) && typeof value['schema_url'] === 'string';
}

function isContextOrAbsent(value: unknown): boolean {
  return isAbsent(value) || isContext(value);
}

function isContext(value: unknown): value is WireSpanContext {
  if (!isObject(value)) return false;
  const { trace_id, span_id, is_remote, trace_state } = value;
  return (
    typeof trace_id === 'string' &&
    typeof span_id === 'string' &&
    (is_remote === undefined || typeof is_remote === 'boolean') &&
    (trace_state === undefined || (isObject(trace_state) && Object.values(trace_state).every(isText)))
  );
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isAttributesOrAbsent(value: unknown): boolean {
  return isAbsent(value) || isAttributes(value);
}

function isTextOrAbsent(value: unknown): boolean {
  return isAbsent(value) || isText(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** What JSON spells `1e999` is infinite, and no number of ours. */
function isNumberOrAbsent(value: unknown): boolean {
  return isAbsent(value) || Number.isFinite(value);
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

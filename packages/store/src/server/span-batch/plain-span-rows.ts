import { spanTimeFromWire } from '@agentlightning/core/protocol';
import type { SpanRow } from '../../span-row.ts';
import { AttributeNames } from './attribute-names.ts';
import { plainSpan } from './plain-span-pattern.ts';

const start = '{"spans":[';
const end = ']}';
/** Up to how many characters text is read here: a pattern remembers every place that it could go back to. */
const longestText = 2 ** 20;

/**
 * The rows of a batch of spans from its text, if it is written as clients write what most spans are: see
 * {@link plainSpan}. Null for every other, good or bad: it has to be parsed. Text whose shape is known this well goes
 * into the table as it came, which takes a quarter of the time that it takes to make values of it and text of those.
 */
export function plainSpanRows(text: string): readonly SpanRow[] | null {
  if (text.length > longestText || !text.startsWith(start) || !text.endsWith(end)) return null;
  const rows: SpanRow[] = [];
  const last = text.length - end.length;
  const names = new AttributeNames();
  let resource = '';
  plainSpan.lastIndex = start.length;
  for (;;) {
    const match = plainSpan.exec(text);
    if (match === null || !names.areUnique(match[10] ?? '')) return null;
    // Spans that come together are mostly of one resource.
    if (match[13] !== resource) {
      resource = match[13] ?? '';
      if (!new AttributeNames().areUnique(resource)) return null;
    }
    // The values of rewards are checked, which takes a parsed span.
    if (match[10]?.includes('agentlightning.reward.') === true || match[7] === 'agentlightning.reward') return null;
    rows.push(rowOf(match));
    const at = plainSpan.lastIndex;
    if (at === last) return rows;
    if (text[at] !== ',') return null;
    plainSpan.lastIndex = at + 1;
  }
}

function rowOf(match: RegExpExecArray): SpanRow {
  // By index: taking a list apart costs as much as finding what is in it.
  const sequenceId = match[3];
  return [
    match[1] ?? '',
    match[2] ?? '',
    match[5] ?? '',
    // 0 is how some clients say that they have none.
    sequenceId === undefined || sequenceId === 'null' || sequenceId === '0' ? null : Number(sequenceId),
    match[4] ?? '',
    match[6] ?? null,
    match[7] ?? '',
    timeOf(match[11]),
    timeOf(match[12]),
    // As `spanBody` has it.
    `{"status":{"code":"${match[8]}","message":${match[9]}},"attributes":${match[10]},"events":[],"links":[],"resource":{"attributes":${match[13]},"schemaUrl":${match[14]}}}`,
  ];
}

function timeOf(text: string | undefined): number | null {
  return text === undefined || text === 'null' ? null : spanTimeFromWire(Number(text));
}

/** What stands before the stem in the ids of a response and its items. */
export type IdPrefix = 'resp' | 'msg' | 'rs' | 'fc';

const stemPattern = /^(?:resp|msg|rs|fc)_([0-9a-f]{32})(?:_\d+)?$/;

/** The id of a response. */
export function responseId(stem: string): string {
  return `resp_${stem}`;
}

/** The id of an item of a response's output: it tells which response it belongs to. */
export function itemId(prefix: Exclude<IdPrefix, 'resp'>, stem: string, index: number): string {
  return `${prefix}_${stem}_${index}`;
}

/** What the ids of a response and of all its items have in common; null for ids that the gateway did not give. */
export function stemOf(id: string | null): string | null {
  return (id === null ? null : stemPattern.exec(id)?.[1]) ?? null;
}

/** The id of the span that records a response. */
export function spanIdOf(stem: string): string {
  return stem.slice(16);
}

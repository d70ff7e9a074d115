/** Prefix of the ids of a response and its items. */
export type IdPrefix = 'resp' | 'msg' | 'rs' | 'fc';

const stemPattern = /^(?:resp|msg|rs|fc)_([0-9a-f]{32})(?:_\d+)?$/;

/** The response id. */
export function responseId(stem: string): string {
  return `resp_${stem}`;
}

/** The id of an output item, which contains the stem of its response. */
export function itemId(prefix: Exclude<IdPrefix, 'resp'>, stem: string, index: number): string {
  return `${prefix}_${stem}_${index}`;
}

/** The common stem of the ids of a response and its items; null for ids of other origin. */
export function stemOf(id: string | null): string | null {
  return (id === null ? null : stemPattern.exec(id)?.[1]) ?? null;
}

/** The id of the span that records a response. */
export function spanIdOf(stem: string): string {
  return stem.slice(16);
}

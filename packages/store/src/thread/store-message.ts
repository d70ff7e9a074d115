import type { ClaimOptions, Store, StoreChange, WatchOptions } from '@agentlightning/core';
import type { SpanRow } from '../span-row.ts';
import type { CarriedError } from './carried-error.ts';

/** The operations of a store that cross as they are: plain values in, a plain value out. */
export type CarriedMethod = Exclude<
  keyof Store,
  'claimRollouts' | 'waitForRollouts' | 'appendSpans' | 'watchChanges' | 'exportRun' | 'importRun' | 'close'
>;

/** What comes piece by piece, and what its reader says: in both directions, as archives are. */
export type PieceMessage =
  | readonly ['piece', id: number, value: unknown]
  | readonly ['end', id: number]
  | readonly ['broken', id: number, error: CarriedError]
  /** So many more pieces may be sent. */
  | readonly ['more', id: number, count: number]
  /** Nobody reads on. */
  | readonly ['leave', id: number];

/** What the side that uses a store says. */
export type StoreRequest =
  | readonly ['call', id: number, method: CarriedMethod, parameters: readonly unknown[]]
  | readonly ['spans', id: number, rows: readonly SpanRow[]]
  | readonly ['claim', id: number, options: Omit<ClaimOptions, 'signal'>]
  | readonly ['wait', id: number, rolloutIds: readonly string[], timeoutMs: number | undefined]
  /** Ends the wait of one of these two, which is answered all the same. */
  | readonly ['abort', id: number]
  | readonly ['watch', id: number, options: Omit<WatchOptions, 'signal'>]
  | readonly ['export', id: number, runId: string]
  | readonly ['import', id: number]
  /** It has written spans itself: what they changed, and about how many bytes they added to the log. */
  | readonly ['written', id: number, changes: readonly StoreChange[], bytes: number]
  | readonly ['close', id: number]
  | PieceMessage;

/** What the side that has the store says. */
export type StoreAnswer =
  | readonly ['answer', id: number, value: unknown]
  | readonly ['failure', id: number, error: CarriedError]
  | PieceMessage;

/** What crosses at once: everything that was said in a turn of the event loop. */
export type Batch<TMessage> = readonly TMessage[];

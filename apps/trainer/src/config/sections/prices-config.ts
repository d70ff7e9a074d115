import type { ModelPrice } from '@agentlightning/core/store';

/** Prices of model calls and of the training runtime. There is no built-in list: prices change. */
export interface PricesConfig {
  /** The currency of all prices, as a code of three letters. @default 'USD' */
  readonly currency?: string;
  /** Prices per million tokens, by model name at the upstream. @default {} */
  readonly models?: Readonly<Record<string, ModelPrice>>;
  /**
   * Price of an hour of the machine of the training runtime. It counts for the time of finished steps; evaluations and
   * interrupted steps are not included. @default none
   */
  readonly runtimePerHour?: number;
}

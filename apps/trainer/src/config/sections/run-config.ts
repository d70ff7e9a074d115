import { type Prices, pricesSchema } from '@agentlightning/core/protocol';
import type { Secret } from '@agentlightning/core/settings';
import type { ModelPrice, RuntimeTokenPrices } from '@agentlightning/core/store';
import { z } from 'zod';

/** Location of the store. */
export interface StoreConfig {
  /** `sqlite:<file>` for an embedded store (relative to the configuration file), `http(s)://…` for a store server. @default 'sqlite:<dataDir>/agl.db' */
  readonly url?: string;
  /** The store server's key. @default none */
  readonly apiKey?: Secret;
}

/** Prices of model calls and of the training runtime. There is no built-in list: prices change. */
export interface PricesConfig {
  /** The currency of all prices, as a code of three letters. @default 'USD' */
  readonly currency?: string;
  /** Prices per million tokens, by model name at the upstream. @default {} */
  readonly models?: Readonly<Record<string, ModelPrice>>;
  /**
   * Price of an hour of the machine of the training runtime. It counts for the time in which a run is worked on, without
   * interrupted steps. @default none
   */
  readonly runtimePerHour?: number;
  /** Prices per million tokens of a training runtime that charges by token. @default none */
  readonly runtimeTokens?: RuntimeTokenPrices;
}

/** What a run is called, and where its data are. */
export interface RunConfig {
  /** Display name. @default the configuration file's folder */
  readonly name?: string;
  /** Labels that the dashboard filters runs by. @default none */
  readonly tags?: readonly string[];
  /** Seed of all random draws. @default 0 */
  readonly seed?: number;
  /** Folder of run data. @default '.agl' in the folder of the configuration file */
  readonly dataDir?: string;
  /**
   * Prices of model calls and of the training runtime, from which `agl runs`, `agl show` and the dashboard compute costs. They
   * are recorded when the run is created. @default none: no cost is shown
   */
  readonly prices?: PricesConfig;
}

/** The settings of a run; those that depend on the folder of the configuration have no default yet. */
export interface RunGroupSettings {
  readonly name?: string | undefined;
  readonly tags: readonly string[];
  readonly seed: number;
  readonly dataDir: string;
  /** Null without prices. */
  readonly prices: Prices | null;
}

/** Validates {@link RunConfig}. */
export const runSchema: z.ZodType<RunGroupSettings> = z.strictObject({
  name: z.string().min(1).optional(),
  tags: z
    .array(
      z
        .string()
        .min(1)
        .regex(/^[^,]*$/, { error: 'must not contain commas' }),
    )
    .default([]),
  seed: z.int().min(0).max(0xffffffff).default(0),
  dataDir: z.string().min(1).default('.agl'),
  prices: pricesSchema.nullable().default(null),
});

import * as z from 'zod';

/** Price of a model, per million tokens. */
export interface ModelPrice {
  /** Price of a million tokens of prompts. */
  readonly input: number;
  /** Price of a million tokens of prompts that the model server had cached. @default the price of `input` */
  readonly cachedInput?: number | undefined;
  /** Price of a million tokens of responses. */
  readonly output: number;
}

/** Prices of a training runtime that charges by token, per million tokens. */
export interface RuntimeTokenPrices {
  /** Price of a million tokens of prompts. */
  readonly prefill: number;
  /** Price of a million generated tokens. */
  readonly sampling: number;
  /** Price of a million tokens that are trained on, with their prompts. */
  readonly training: number;
}

/** The prices that a run was configured with. */
export interface Prices {
  /** The currency of all prices, such as `USD`. */
  readonly currency: string;
  /** Prices by model name at the upstream. */
  readonly models: Readonly<Record<string, ModelPrice>>;
  /** Price of an hour of the machine of the training runtime; null without one. */
  readonly runtimePerHour: number | null;
  /** Prices of a training runtime that charges by token; null without them. */
  readonly runtimeTokens: RuntimeTokenPrices | null;
}

/** Validates {@link Prices} and adds the defaults. Marked as pure: bundles of agents leave it out. */
export const pricesSchema: z.ZodType<Prices> = /* @__PURE__ */ (() => {
  const price = z.number().min(0);
  const modelPrice: z.ZodType<ModelPrice> = z.strictObject({
    input: price,
    cachedInput: price.optional(),
    output: price,
  });
  return z.strictObject({
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, { error: 'must be a currency code of three capital letters, such as USD' })
      .default('USD'),
    models: z.record(z.string().min(1), modelPrice).default({}),
    runtimePerHour: price.nullable().default(null),
    runtimeTokens: z.strictObject({ prefill: price, sampling: price, training: price }).nullable().default(null),
  });
})();

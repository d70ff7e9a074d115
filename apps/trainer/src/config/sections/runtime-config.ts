import type { Secret } from '@agentlightning/core/settings';
import type { LoraConfig } from '@agentlightning/core/training-runtime';
import { z } from 'zod';
import { secretSchema } from '../environment.ts';

/** The runtime that trains and serves the model. Secrets are texts, or `env('NAME')`. */
export type RuntimeConfig<TSecret = Secret> =
  | {
      /** A tiny model trained and served on this machine's CPU, in a separate process. */
      readonly type: 'embedded';
      /** Initial model, one of the embedded runtime's models. @default 'tiny-chat' */
      readonly model?: string;
    }
  | {
      /** A runtime that is already running, here or on a GPU machine. */
      readonly type: 'grpc';
      /** `host:port`. */
      readonly address: string;
      /** One of the runtime's base models. @default its first one */
      readonly model?: string;
      /** The runtime's key, such as `env('AGL_RUNTIME_KEY')`. @default none */
      readonly apiKey?: TSecret;
      /**
       * API key of the runtime's model endpoint, for the gateway of this process.
       * @default `apiKey` for an endpoint on this machine, else none
       */
      readonly inferenceApiKey?: TSecret;
      /** TLS settings. @default the system's certificate authorities; no TLS to this machine */
      readonly tls?: RuntimeTls<TSecret>;
      /** Trains LoRA adapters on a frozen base model, if the runtime supports it. @default full fine-tuning */
      readonly lora?: LoraConfig;
      /** Expected SHA-256 of the tokenizer, in hexadecimal; a runtime with another tokenizer is rejected. @default any */
      readonly tokenizerSha256?: string;
      /** Expected SHA-256 of the chat template, in hexadecimal; a runtime with another template is rejected. @default any */
      readonly chatTemplateSha256?: string;
    }
  | {
      /** A server that speaks the Tinker API: the model is trained and sampled there. */
      readonly type: 'tinker';
      /** Address of the server, without `/api/v1`. */
      readonly baseUrl: string;
      /** The base model, by its name on the server. */
      readonly model: string;
      /** The key of the server, such as `env('TINKER_API_KEY')`. @default the environment variable TINKER_API_KEY */
      readonly apiKey?: TSecret;
      /** A folder with tokenizer and chat template, or a name in the cache of the Hugging Face hub. @default `model` */
      readonly tokenizer?: string;
      /** The LoRA adapters; the server chooses alpha. @default { rank: 32 } */
      readonly lora?: Omit<LoraConfig, 'alpha'>;
    }
  | {
      /**
       * The fine-tuning API of OpenAI, or of a vendor with the same one: a training on `data` by `sft` or `dpo`. The name of the
       * resulting model is in the run's record.
       */
      readonly type: 'openai-fine-tuning';
      /** Address of the API, with `/v1`. */
      readonly baseUrl: string;
      /** The base model, by its name at the vendor. */
      readonly model: string;
      /** The key of the vendor, such as `env('OPENAI_API_KEY')`. @default the environment variable OPENAI_API_KEY */
      readonly apiKey?: TSecret;
      /** Number of passes over the data. @default the vendor's choice */
      readonly epochs?: number;
    };

/** A runtime whose secrets are read. */
export type ResolvedRuntime = RuntimeConfig<string>;

/** TLS certificates of the connection to a runtime, in PEM format. */
export interface RuntimeTls<TSecret = Secret> {
  /** Certificates of a private certificate authority. @default the system's authorities */
  readonly authority?: string;
  /** Client certificate of the trainer, for a runtime that requires one. @default none */
  readonly certificate?: string;
  /** Private key of `certificate`. */
  readonly privateKey?: TSecret;
  /**
   * Server name in the runtime's certificate, if it differs from `address`, as with a tunnel.
   * @default the host of `address`
   */
  readonly serverName?: string;
}

const count = z.int().min(1);

/** The rank of the adapters on a Tinker server where none is set. */
export const defaultTinkerRank = 32;

const loraSchema = z.strictObject({
  rank: count,
  alpha: z.number().gt(0).optional(),
  targetModules: z.array(z.string().min(1)).min(1).optional(),
});

const tlsSchema = z
  .strictObject({
    authority: z.string().optional(),
    certificate: z.string().optional(),
    privateKey: secretSchema.optional(),
    serverName: z.string().optional(),
  })
  .refine(({ certificate, privateKey }) => (certificate === undefined) === (privateKey === undefined), {
    error: 'certificate and privateKey come together',
  });

const hashSchema = z.string().regex(/^[0-9a-fA-F]{64}$/, { error: 'must be 64 hexadecimal digits' });

/** A schema with the discriminator `type`, which can be an option of a larger union. */
type RuntimeSchema = z.ZodType<
  GivenRuntime,
  unknown,
  z.core.$ZodTypeInternals<GivenRuntime, unknown> & { readonly propValues: z.core.util.PropValues }
>;

interface GivenRuntime {
  readonly type: RuntimeConfig['type'];
}

/** Validates the runtime settings. */
export const runtimeSchema: RuntimeSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('embedded'), model: z.string().optional() }),
  z.strictObject({
    type: z.literal('grpc'),
    address: z.string().min(1),
    model: z.string().optional(),
    apiKey: secretSchema.optional(),
    inferenceApiKey: secretSchema.optional(),
    tls: tlsSchema.optional(),
    lora: loraSchema.optional(),
    tokenizerSha256: hashSchema.optional(),
    chatTemplateSha256: hashSchema.optional(),
  }),
  z.strictObject({
    type: z.literal('tinker'),
    baseUrl: z.url({ protocol: /^https?$/ }),
    model: z.string().min(1),
    apiKey: secretSchema.optional(),
    tokenizer: z.string().min(1).optional(),
    lora: loraSchema.omit({ alpha: true }).default({ rank: defaultTinkerRank }),
  }),
  z.strictObject({
    type: z.literal('openai-fine-tuning'),
    baseUrl: z.url({ protocol: /^https?$/ }),
    model: z.string().min(1),
    apiKey: secretSchema.optional(),
    epochs: count.optional(),
  }),
]);

/** The LoRA of a configuration; undefined when all weights are trained. */
export function loraOf(runtime: { readonly type: string; readonly lora?: LoraConfig }): LoraConfig | undefined {
  return runtime.type === 'grpc' || runtime.type === 'tinker' ? runtime.lora : undefined;
}

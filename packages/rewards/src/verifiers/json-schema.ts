import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { jsonOf } from '../base/fenced-block.ts';
import { importOptional } from '../base/optional-package.ts';
import { type OutputOptions, partSettings, type ScoredPart, selectOutput, shown, verdict } from '../base/part.ts';

/** A schema of zod, Valibot, ArkType or another library with [Standard Schema](https://standardschema.dev). */
export interface StandardSchema {
  /** The validator of the library. */
  readonly '~standard': {
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
  };
}

interface StandardResult {
  readonly issues?:
    | readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[]
    | undefined;
}

/** A [JSON Schema](https://json-schema.org). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The problems of a value; empty for a valid one. */
type Validate = (value: unknown) => Promise<readonly string[]>;

/** What is used of ajv. */
type AjvClass = new (
  options: object,
) => {
  compile(schema: object): {
    (value: unknown): boolean;
    errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null;
  };
};

/**
 * 1 if the output is valid by a JSON Schema or a Standard Schema, else 0. A text is parsed as JSON, also from a fenced block.
 * JSON Schemas need the package `ajv`.
 *
 * @example
 * ```ts
 * jsonSchema(z.object({ answer: z.string() }));
 * jsonSchema({ type: 'object', required: ['answer'] });
 * ```
 *
 * @throws AgentLightningError CONFIG for a value that is not a schema; from `score`, for an invalid JSON Schema
 */
export function jsonSchema<TTask, TOutput = unknown>(
  schema: StandardSchema | JsonSchema,
  options: OutputOptions<TOutput> = {},
): ScoredPart<TTask, TOutput> {
  const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
  if (!isObject && !isStandard(schema)) throw notASchema(schema);
  let compiled: Promise<Validate> | null = null;
  return {
    ...partSettings(options),
    score: async ({ output }) => {
      compiled ??= isStandard(schema) ? Promise.resolve(byStandard(schema)) : byJsonSchema(schema);
      const validate = await compiled;
      let value: unknown;
      try {
        value = jsonOf(selectOutput(output, options.output));
      } catch (error) {
        return verdict(false, `not JSON: ${errorMessage(error)}`);
      }
      const problems = await validate(value);
      return verdict(problems.length === 0, problems.length === 0 ? 'valid' : problems.slice(0, 5).join('; '));
    },
  };
}

function isStandard(schema: unknown): schema is StandardSchema {
  const isContainer = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  if (!isContainer) return false;
  const standard = (schema as Partial<StandardSchema>)['~standard'];
  return typeof standard?.validate === 'function';
}

function byStandard(schema: StandardSchema): Validate {
  return async (value) => {
    const { issues = [] } = await schema['~standard'].validate(value);
    return issues.map(({ message, path = [] }) =>
      [path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.'), message]
        .filter((text) => text !== '')
        .join(': '),
    );
  };
}

async function byJsonSchema(schema: JsonSchema): Promise<Validate> {
  const isRecent = /20(19-09|20-12)/.test(String(schema['$schema'] ?? ''));
  const load = async (): Promise<AjvClass> =>
    isRecent ? (await import('ajv/dist/2020.js')).Ajv2020 : (await import('ajv')).Ajv;
  const Ajv = await importOptional<AjvClass>('ajv', 'jsonSchema', load);
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false, logger: false });
  try {
    const validate = ajv.compile(schema);
    return async (value) => {
      if (validate(value)) return [];
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`.trim());
    };
  } catch (error) {
    throw notASchema(schema, error);
  }
}

function notASchema(value: unknown, cause?: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `Not a schema: ${shown(value)}${cause === undefined ? '' : ` (${errorMessage(cause)})`}`,
    remedy: 'Pass a JSON Schema as an object, or a schema of zod, Valibot or ArkType.',
    cause,
  });
}

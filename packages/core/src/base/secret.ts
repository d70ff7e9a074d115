/** A secret in an environment variable; see {@link env}. */
export interface SecretVariable {
  /** The variable's name. */
  readonly env: string;
}

/** A secret of a configuration: its value, or the variable that holds it. */
export type Secret = string | SecretVariable;

/** The variables that secrets are read from. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Names the environment variable of a secret in a configuration. It is read when a command needs it, so that agents, which load the
 * same file, run without it. Its value is not recorded.
 *
 * @example
 * ```ts
 * const runtime = { type: 'tinker', baseUrl: 'https://tinker.example', model: 'Qwen/Qwen3-4B', apiKey: env('TINKER_API_KEY') };
 * ```
 */
export function env(name: string): SecretVariable {
  return { env: name };
}

/** Reads a secret; null when its variable is not set, or it is empty. */
export function readSecret(secret: Secret, environment: Environment): string | null {
  return (typeof secret === 'string' ? secret : environment[secret.env]) || null;
}

/** A secret for people, without its value: `the environment variable NAME`. */
export function secretText(secret: Secret): string {
  return typeof secret === 'string' ? 'the configuration' : `the environment variable ${secret.env}`;
}

/** The present settings by their former names, which held names of variables. */
const formerSettings: Readonly<Record<string, string>> = {
  apiKeyEnv: "`apiKey: env('NAME')`",
  headersEnv: '`headers: { "<name>": { "env": "NAME" } }`',
};

/** Hint for a setting that held the name of a variable; null for others. */
export function formerSecretHint(name: string): string | null {
  return Object.hasOwn(formerSettings, name) ? `it is now ${formerSettings[name]}` : null;
}

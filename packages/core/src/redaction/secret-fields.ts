import type { JsonObject, JsonValue } from '../base/json.ts';
import { isRawJson } from '../base/json-text.ts';
import { redacted } from './secret-parameters.ts';

/** Names of credential fields in requests to model APIs and their clients. */
const defaultNames: readonly string[] = [
  ...['api_key', 'x_api_key', 'authorization', 'proxy_authorization', 'headers', 'extra_headers', 'default_headers'],
  ...['access_token', 'refresh_token', 'auth_token', 'bearer_token', 'session_token', 'azure_ad_token'],
  ...['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token', 'credentials', 'vertex_credentials'],
  ...['client_secret', 'secret', 'secret_key', 'private_key', 'password', 'passphrase', 'cookie', 'set_cookie'],
];

type Container = Record<string, JsonValue> | JsonValue[];

interface CopiedContainer {
  readonly copy: Container;
  /** Whether the keys are property names of a JSON schema. */
  readonly describesProperties: boolean;
}

/**
 * Redacts credential fields of JSON bodies by name: case-insensitive, with `-`, `_` or no separator between words, at
 * any depth.
 *
 * In a JSON schema, a property with such a name is not redacted: its value is a field definition.
 */
export class SecretFields {
  readonly #pattern: RegExp;

  /**
   * @param names - further field names, in addition to `api_key`, `authorization`, `extra_headers` and other defaults
   */
  constructor(names: readonly string[] = []) {
    const patterns = [...defaultNames, ...names].map(namePattern).filter((pattern) => pattern !== '');
    this.#pattern = new RegExp(`^(?:${patterns.join('|')})$`, 'i');
  }

  /** Returns a copy of a body with `…` for the value of each secret field; the body itself without secret fields. */
  redact(body: JsonObject): JsonObject {
    const root = { ...body };
    const pending: CopiedContainer[] = [{ copy: root, describesProperties: false }];
    let count = 0;
    // Iterative: the depth of a body is unlimited.
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { copy, describesProperties } = next;
      const copyOf = (name: string, value: JsonValue): JsonValue => {
        if (typeof value !== 'object' || value === null || isRawJson(value)) return value;
        const child: Container = isList(value) ? [...value] : { ...value };
        pending.push({ copy: child, describesProperties: name === 'properties' });
        return child;
      };
      if (Array.isArray(copy)) {
        for (const [index, value] of copy.entries()) copy[index] = copyOf('', value);
        continue;
      }
      for (const [name, value] of Object.entries(copy)) {
        const isSchema = describesProperties && typeof value === 'object';
        const isSecret = value !== null && !isSchema && this.#pattern.test(name);
        if (isSecret) count += 1;
        copy[name] = isSecret ? redacted : copyOf(name, value);
      }
    }
    return count === 0 ? body : root;
  }
}

/** The default names only. */
export const defaultSecretFields: SecretFields = new SecretFields();

function isList(value: readonly JsonValue[] | JsonObject): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function namePattern(name: string): string {
  const characters = [...name.replaceAll(/[-_]/g, '')];
  return characters.map((character) => character.replace(/\W/, '\\$&')).join('[-_]?');
}

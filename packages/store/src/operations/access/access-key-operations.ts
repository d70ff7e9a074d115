import type { AccessKey, AccessKeyRequest, NewAccessKey, StoredAccessKey } from '../../access/access-key.ts';
import type { OperationRunner } from '../../sql/operation-runner.ts';
import {
  createAccessKey,
  findAccessKey,
  hasAccessKeys,
  listAccessKeys,
  projectNames,
  revokeAccessKey,
} from './access-keys.ts';

/** The operations on the access keys of a store. */
export class AccessKeyOperations {
  protected readonly runner: OperationRunner;

  constructor(runner: OperationRunner) {
    this.runner = runner;
  }

  /**
   * Creates an access key for clients of the store's server. The key is returned only once; the store keeps its digest.
   *
   * @throws ValidationError when the role is unknown, the name is empty, the lifetime is not positive, or the project is invalid
   * @example
   * ```ts
   * const { key } = await store.createAccessKey({ name: 'runners in Frankfurt', role: 'worker' });
   * ```
   */
  createAccessKey(request: AccessKeyRequest): Promise<NewAccessKey> {
    return this.runner.write((context) => createAccessKey(context, request));
  }

  /** The records of all keys, oldest first, including revoked ones. */
  listAccessKeys(): Promise<readonly AccessKey[]> {
    return this.runner.read(listAccessKeys);
  }

  /**
   * Revokes an access key. Servers reject it within five seconds.
   *
   * @throws NotFoundError when there is no such key
   */
  revokeAccessKey(keyId: string): Promise<AccessKey> {
    return this.runner.write((context) => revokeAccessKey(context, keyId));
  }

  /** A key with its digest; null if unknown. */
  findAccessKey(keyId: string): Promise<StoredAccessKey | null> {
    return this.runner.read((context) => findAccessKey(context, keyId));
  }

  /** The names of all projects, the default one first: those that a key was ever created for. */
  projectNames(): Promise<readonly string[]> {
    return this.runner.read(projectNames);
  }

  /** Whether a key was ever created: servers then require a key, even when all are revoked. */
  hasAccessKeys(): Promise<boolean> {
    return this.runner.read(hasAccessKeys);
  }
}

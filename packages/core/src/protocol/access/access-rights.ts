/** The roles of keys. A token of an attempt has the role `attempt`. */
export const accessRoles = ['admin', 'trainer', 'worker', 'viewer', 'ingest', 'feedback', 'attempt'] as const;

/** A role of keys: {@link roleRights} has the rights of each. */
export type AccessRole = (typeof accessRoles)[number];

/** The project of keys without another one. */
export const defaultProject = 'default';

/** The right that a route requires of a key. Tokens of attempts are restricted to their attempt in addition. */
export type AccessRight =
  /** Nothing, not even a key. */
  | 'public'
  /** Read a rollout with its latest attempt and its resources. */
  | 'attempt:read'
  /** Record spans of an attempt, and call models in it. */
  | 'attempt:write'
  /** Read what a worker needs: attempts, spans of a rollout, resources, metrics. */
  | 'work:read'
  /** Claim rollouts, report on attempts and workers, create and revoke tokens of attempts. */
  | 'work:write'
  /** Send OpenTelemetry's signals. */
  | 'otlp:write'
  /** Record traces of production in a deployment. */
  | 'traces:write'
  /** Record feedback on traces of production. */
  | 'feedback:write'
  /** List, search and watch everything of a project. */
  | 'project:read'
  /** Upload data, enqueue rollouts, publish resources, create and change runs. */
  | 'project:write'
  /** Delete, export and import runs; manage the gateway. */
  | 'admin';

const attempt: readonly AccessRight[] = ['public', 'attempt:read', 'attempt:write', 'otlp:write'];
const feedback: readonly AccessRight[] = ['public', 'feedback:write'];
const ingest: readonly AccessRight[] = [...feedback, 'otlp:write', 'traces:write'];
const worker: readonly AccessRight[] = [...attempt, 'work:read', 'work:write', 'traces:write', 'feedback:write'];
const viewer: readonly AccessRight[] = ['public', 'attempt:read', 'work:read', 'project:read'];
const trainer: readonly AccessRight[] = [...worker, 'project:read', 'project:write'];

/** The rights of each role: the one table that the routes of store, server, gateway and dashboard are checked against. */
export const roleRights: Readonly<Record<AccessRole, readonly AccessRight[]>> = {
  attempt,
  feedback,
  ingest,
  worker,
  viewer,
  trainer,
  admin: [...trainer, 'admin'],
};

/** The roles that have a right, the least privileged first. */
export function rolesWith(right: AccessRight): readonly AccessRole[] {
  return (Object.keys(roleRights) as AccessRole[]).filter((role) => roleRights[role].includes(right));
}

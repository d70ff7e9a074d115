/**
 * Validates a task. Schemas of zod, Valibot and ArkType have this form, which is a part of
 * [Standard Schema](https://standardschema.dev).
 */
export interface TaskSchema<TTask = unknown> {
  readonly '~standard': {
    readonly validate: (value: unknown) => TaskSchemaResult<TTask> | Promise<TaskSchemaResult<TTask>>;
  };
}

/** The validated task, or its problems. */
export type TaskSchemaResult<TTask> =
  | { readonly value: TTask; readonly issues?: undefined }
  | { readonly issues: readonly TaskSchemaIssue[] };

/** A problem of a task. */
export interface TaskSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Validates a task.
 *
 * @returns the task as the schema transforms it, or a text that names each invalid field
 */
export async function validateTask(
  task: unknown,
  schema: TaskSchema,
): Promise<{ readonly task: unknown } | { readonly problem: string }> {
  const result = await schema['~standard'].validate(task);
  if (result.issues === undefined) return { task: result.value };
  return { problem: result.issues.map(issueText).join(', ') };
}

function issueText({ message, path = [] }: TaskSchemaIssue): string {
  const names = path.map((step) => String(typeof step === 'object' ? step.key : step));
  return names.length === 0 ? message : `field "${names.join('.')}": ${message}`;
}

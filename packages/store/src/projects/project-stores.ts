import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { defaultProject } from '@agentlightning/core/protocol';
import { type OpenStoreOptions, openDriver, openStore } from '../open-store.ts';
import type { SqlStore } from '../sql-store.ts';
import { projectLocation, projectSchema, truncatedSchema } from './project-location.ts';

/** The stores of the projects of a server. */
export interface ProjectStores {
  /** The store of the default project, which also has the keys of all projects. */
  readonly main: SqlStore;
  /** The names of all projects, the default one first. A project exists from its first key on. */
  names(): Promise<readonly string[]>;
  /**
   * The store of a project, opened at its first use.
   *
   * @throws NotFoundError
   */
  store(project: string): Promise<SqlStore>;
  /** Closes all of them. */
  close(): Promise<void>;
}

/**
 * Opens the stores of all projects of a server. Each project has a separate store, in a file or a schema: what one
 * project contains cannot appear in an operation of another.
 *
 * @param location - as for {@link openStore}: the store of the default project
 * @example
 * ```ts
 * const projects = await openProjectStores('sqlite:./run/agl.db');
 * const { key } = await projects.main.createAccessKey({ name: 'a team', role: 'trainer', project: 'search' });
 * const server = await createStoreServer({ store: projects.main, projects });
 * ```
 */
export async function openProjectStores(location: string, options: OpenStoreOptions = {}): Promise<ProjectStores> {
  const main = await openStore(location, options);
  const opened = new Map<string, Promise<SqlStore>>([[defaultProject, Promise.resolve(main)]]);
  const open = async (project: string): Promise<SqlStore> => {
    const names = await main.projectNames();
    if (!names.includes(project)) throw new NotFoundError('Project', project);
    const schema = projectSchema(location, project);
    if (schema !== null) {
      const truncated = truncatedSchema(location, project);
      const former = truncated === null ? null : formerSchema(truncated, { location, names });
      await createSchema(schema, { former, location, options });
    }
    return await openStore(projectLocation(location, project), options);
  };
  return {
    main,
    names: () => main.projectNames(),
    store: (project) => {
      const known = opened.get(project);
      if (known !== undefined) return known;
      const opening = open(project);
      opened.set(project, opening);
      opening.catch(() => opened.delete(project));
      return opening;
    },
    close: async () => {
      const stores = await Promise.allSettled([...opened.values()].reverse());
      for (const store of stores) if (store.status === 'fulfilled') await store.value.close();
    },
  };
}

/** The schema that a project had in earlier versions, with all projects that had it. */
interface FormerSchema {
  readonly name: string;
  readonly projects: readonly string[];
}

function formerSchema(
  truncated: string,
  { location, names }: { readonly location: string; readonly names: readonly string[] },
): FormerSchema {
  const isSame = (name: string): boolean =>
    (truncatedSchema(location, name) ?? projectSchema(location, name)) === truncated;
  return { name: truncated, projects: names.filter(isSame) };
}

/** Creates a schema of a PostgreSQL database, unless it exists, or gives the former schema its name. */
async function createSchema(
  schema: string,
  {
    former,
    location,
    options,
  }: { readonly former: FormerSchema | null; readonly location: string; readonly options: OpenStoreOptions },
): Promise<void> {
  const driver = await openDriver(location, { ...options, poolSize: 1 });
  try {
    await driver.write(async (connection) => {
      // Concurrent statements would conflict.
      if (driver.dialect.lockSchema !== null) await connection.all(driver.dialect.lockSchema);
      const exists = async (name: string): Promise<boolean> =>
        (await connection.all('SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?', [name])).length > 0;
      if (await exists(schema)) return;
      if (former === null || !(await exists(former.name))) await connection.run(`CREATE SCHEMA "${schema}"`);
      else if (former.projects.length > 1) throw sharedSchema(former, schema);
      else await connection.run(`ALTER SCHEMA "${former.name}" RENAME TO "${schema}"`);
    });
  } finally {
    await driver.close();
  }
}

function sharedSchema({ name, projects }: FormerSchema, schema: string): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_SCHEMA',
    message: `The projects ${projects.join(', ')} have the same schema ${name}: an earlier version truncated its name`,
    remedy: `Give it to the project that owns its content, such as by \`ALTER SCHEMA "${name}" RENAME TO "${schema}"\` for this one, or to another name.`,
    details: { schema: name, projects },
  });
}

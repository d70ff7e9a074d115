import type { ChosenExample } from '@agentlightning/core/algorithm';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { Fragment, type ReactNode, useMemo } from 'react';
import type { PromptVersion, PromptVersions } from '../../src/api/prompt-views.ts';
import { HeatMap } from '../charts/heat-map.tsx';
import { numberText } from '../data/format.ts';
import { promptTree, scoreMap } from '../data/prompt-tree.ts';
import { promptsQuery, runQuery } from '../data/queries.ts';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { ScrollRegion } from '../parts/scroll-region.tsx';
import { TextDifference } from '../parts/text-difference.tsx';

const route = getRouteApi('/runs/$runId/prompts');

/** The versions of a prompt search: tree, scores by task, text and difference. */
export function PromptsPage(): ReactNode {
  const { runId } = route.useParams();
  const { data: run } = useQuery(runQuery(runId));
  return (
    <>
      <RunHead runId={runId} run={run} />
      <QueryView query={useQuery(promptsQuery(runId))}>
        {(prompts) => <PromptsView runId={runId} prompts={prompts} />}
      </QueryView>
    </>
  );
}

function PromptsView({ runId, prompts }: { readonly runId: string; readonly prompts: PromptVersions }): ReactNode {
  const { versions, best } = prompts;
  const { version = best } = route.useSearch();
  const navigate = useNavigate();
  const map = useMemo(() => scoreMap(versions), [versions]);
  const index = versions.findIndex((each) => each.version === version);
  const selected = versions[index];
  if (versions.length === 0) {
    return (
      <EmptyNotice title="No versions">
        Versions of a prompt search appear here when they are evaluated. Training runs have none.
      </EmptyNotice>
    );
  }
  const select = (column: number): void =>
    void navigate({
      to: '/runs/$runId/prompts',
      params: { runId },
      search: (search) => ({ ...search, version: versions[column]?.version }),
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <VersionTable runId={runId} prompts={prompts} selected={version} />
      <section className="panel" aria-labelledby="scores-title">
        <h2 id="scores-title">Reward by validation task and version</h2>
        <HeatMap
          map={map}
          columns="version"
          selected={selected === undefined ? null : { task: 0, step: index }}
          onSelect={({ step }) => select(step)}
        />
        <p className="scale">
          {numberText(map.range?.[0])} <i /> {numberText(map.range?.[1])}
          <span>Rows are tasks, columns are versions in order of creation; grey cells have no reward.</span>
        </p>
      </section>
      {selected === undefined ? null : (
        <VersionText
          version={selected}
          parent={versions.find((each) => each.version === selected.parents[0])}
          kinds={prompts.kinds}
        />
      )}
    </>
  );
}

/** The table of the versions of a prompt search. */
export function VersionTable(props: {
  readonly runId: string;
  readonly prompts: PromptVersions;
  readonly selected: string | null;
}): ReactNode {
  const { runId, prompts, selected } = props;
  const nodes = useMemo(() => promptTree(prompts.versions), [prompts.versions]);
  return (
    <ScrollRegion label="Versions">
      <table>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col" className="number">
              Score
            </th>
            <th scope="col" className="number">
              Tasks
            </th>
            <th scope="col" className="number">
              Best on (Pareto front)
            </th>
            <th scope="col">Parents</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ version: { version, score, scoredTasks, bestTasks, parents }, depth }) => (
            <tr key={version}>
              <td style={{ paddingLeft: 12 + 18 * depth }}>
                <Link
                  to="/runs/$runId/prompts"
                  params={{ runId }}
                  search={(search) => ({ ...search, version })}
                  resetScroll={false}
                  data-row=""
                  className="mono"
                  aria-current={version === selected}
                >
                  {version}
                </Link>
                {version === prompts.best ? ' · highest score' : ''}
              </td>
              <td className="number">{numberText(score)}</td>
              <td className="number">{scoredTasks}</td>
              <td className="number">{bestTasks === 0 ? '–' : `${bestTasks} ${bestTasks === 1 ? 'task' : 'tasks'}`}</td>
              <td className="mono foreign">{parents.join(', ') || '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** The best version of a prompt search, and its differences from the first one. */
export function BestVersion({ prompts: { versions, best, kinds } }: { readonly prompts: PromptVersions }): ReactNode {
  const version = versions.find((each) => each.version === best);
  const [first] = versions;
  if (version === undefined) return null;
  return <VersionText version={version} parent={first === version ? undefined : first} kinds={kinds} />;
}

function VersionText(props: {
  readonly version: PromptVersion;
  readonly parent: PromptVersion | undefined;
  readonly kinds: PromptVersions['kinds'];
}): ReactNode {
  const { version, parent, kinds } = props;
  return (
    <section className="panel" aria-labelledby="text-title">
      <h2 id="text-title">
        {parent === undefined ? version.version : `${version.version}, differences from ${parent.version}`}
      </h2>
      {Object.entries(version.templates).map(([name, template]) => (
        <section key={name} aria-label={name}>
          <h3>
            <span className="mono foreign">{name}</span> · {kinds[name]}
          </h3>
          {parent === undefined ? (
            <pre className="foreign">{template}</pre>
          ) : (
            <TextDifference text={template} base={parent.templates[name] ?? ''} />
          )}
          <ExampleRollouts examples={version.examples?.[name] ?? []} />
        </section>
      ))}
    </section>
  );
}

/** Links to the training rollouts of the examples of a prompt. */
function ExampleRollouts({ examples }: { readonly examples: readonly ChosenExample[] }): ReactNode {
  if (examples.length === 0) return null;
  return (
    <p>
      Training rollouts:
      {examples.map(({ task, rolloutId }) =>
        rolloutId === null ? null : (
          <Fragment key={task}>
            {' '}
            <Link to="/rollouts/$rolloutId" params={{ rolloutId }} className="mono">
              {rolloutId}
            </Link>
          </Fragment>
        ),
      )}
    </p>
  );
}

import { getRouteApi, Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { lazy, type ReactNode, Suspense, useMemo, useRef, useState } from 'react';
import type { TraceNode } from '../../src/api/rollout-views.ts';
import { agentGraph } from '../data/agent-graph.ts';
import { durationText, indentedJson, numberText } from '../data/format.ts';
import { EmptyNotice } from '../parts/notice.tsx';
import { ScrollRegion } from '../parts/scroll-region.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';

const rowHeight = 30;

/** Number of levels that are indented. */
const maxIndent = 16;

const AgentGraphChart = lazy(async () => {
  const { AgentGraphChart: component } = await import('../charts/agent-graph-chart.tsx');
  return { default: component };
});

const route = getRouteApi('/rollouts/$rolloutId');

/** The trace of an attempt: a tree with a waterfall and the details of the selected step, or a graph of its agents. */
export function TraceView({ trace }: { readonly trace: readonly TraceNode[] }): ReactNode {
  const search = route.useSearch();
  const { rolloutId } = route.useParams();
  if (trace.length === 0) {
    return (
      <EmptyNotice title="No spans">
        The attempt has recorded none. It may not have started, or its agent has no adapter.
      </EmptyNotice>
    );
  }
  return (
    <>
      <nav className="tabs" aria-label="Drawing of the trace">
        {([undefined, 'graph'] as const).map((layout) => (
          <Link
            key={layout ?? 'tree'}
            to="/rollouts/$rolloutId"
            params={{ rolloutId }}
            search={{ ...search, layout }}
            activeOptions={{ explicitUndefined: true }}
            replace
            resetScroll={false}
          >
            {layout === undefined ? 'Tree and waterfall' : 'Agents and tools'}
          </Link>
        ))}
      </nav>
      {search.layout === 'graph' ? <AgentPanel trace={trace} /> : <TraceTree trace={trace} />}
    </>
  );
}

/** The graph of the agents and tools. */
function AgentPanel({ trace }: { readonly trace: readonly TraceNode[] }): ReactNode {
  const graph = useMemo(() => agentGraph(trace), [trace]);
  if (graph.nodes.length === 0) {
    return <EmptyNotice title="No agents">The attempt has no model call, tool call or agent step.</EmptyNotice>;
  }
  return (
    <Suspense fallback={<p role="status">Loading …</p>}>
      <ScrollRegion label="Agents and tools">
        <AgentGraphChart graph={graph} />
      </ScrollRegion>
    </Suspense>
  );
}

function TraceTree({ trace }: { readonly trace: readonly TraceNode[] }): ReactNode {
  const scroller = useRef<HTMLElement>(null);
  const [selected, setSelected] = useState<string | null>(null);
  const virtualizer = useVirtualizer({
    count: trace.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const times = trace.flatMap(({ startTimeMs, endTimeMs }) => [startTimeMs, endTimeMs].filter((time) => time !== null));
  const scale = { startMs: Math.min(...times), endMs: Math.max(...times) };
  const node = trace.find(({ spanId }) => spanId === selected);
  return (
    <>
      <p className="muted">{`${trace.length} steps in ${durationText(times.length === 0 ? null : scale.endMs - scale.startMs)}`}</p>
      <ScrollRegion
        label="Trace"
        ref={scroller}
        style={{ height: `min(${trace.length * rowHeight + 2}px, max(280px, 55vh))` }}
      >
        <ul className="trace" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const step = trace[index];
            if (step === undefined) return null;
            return (
              <li key={step.spanId} style={{ transform: `translateY(${start}px)`, height: rowHeight }}>
                <TraceRow
                  step={step}
                  scale={scale}
                  isSelected={step.spanId === selected}
                  onSelect={() => setSelected(step.spanId)}
                />
              </li>
            );
          })}
        </ul>
      </ScrollRegion>
      {node === undefined ? <p className="muted">Select a step to see its details.</p> : <StepDetails step={node} />}
    </>
  );
}

interface TimeScale {
  readonly startMs: number;
  readonly endMs: number;
}

function TraceRow(props: {
  readonly step: TraceNode;
  readonly scale: TimeScale;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}): ReactNode {
  const { step, scale, isSelected, onSelect } = props;
  const { depth, kind, title, outcome, startTimeMs, endTimeMs, rewards } = step;
  const reward = rewards[0];
  return (
    <button type="button" className="trace-row" aria-pressed={isSelected} onClick={onSelect} data-row="">
      <span className="trace-title" style={{ paddingLeft: Math.min(depth, maxIndent) * 16 }}>
        <span className="kind" data-kind={kind}>
          {kind}
        </span>{' '}
        <span className="foreign">{reward === undefined ? title : `${title} ${numberText(reward.value)}`}</span>{' '}
        {outcome === 'ok' ? null : <StatusBadge status={outcome} />}
      </span>
      <span className="trace-time">
        {startTimeMs === null || endTimeMs === null ? '–' : durationText(endTimeMs - startTimeMs)}
      </span>
      <span className="waterfall" aria-hidden="true">
        <i data-kind={kind} style={barStyle(step, scale)} />
      </span>
    </button>
  );
}

function barStyle({ startTimeMs, endTimeMs }: TraceNode, { startMs, endMs }: TimeScale) {
  if (startTimeMs === null) return { display: 'none' };
  const length = Math.max(endMs - startMs, 1);
  const left = ((startTimeMs - startMs) / length) * 100;
  const width = (((endTimeMs ?? startTimeMs) - startTimeMs) / length) * 100;
  return { left: `${left}%`, width: `max(${width}%, 2px)` };
}

function StepDetails({ step }: { readonly step: TraceNode }): ReactNode {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Requested model', step.requestedModel],
    ['Agents', step.agentPath.length === 0 ? null : step.agentPath.join(' › ')],
    ['Arguments', step.toolArguments === null ? null : indentedJson(step.toolArguments)],
    ['Result', step.toolResult === null ? null : indentedJson(step.toolResult)],
    ['Rewards', step.rewards.map(({ name, value }) => `${name}: ${value}`).join('\n') || null],
    ['Error', step.error],
    ['Stack', step.stackTrace],
  ];
  return (
    <section className="panel" aria-labelledby="step-title">
      <h2 id="step-title" className="foreign">
        {step.title} <span className="muted mono">{`${step.kind} ${step.spanId}`}</span>
      </h2>
      {facts.map(([label, text]) =>
        text === null ? null : (
          <div key={label} className="message">
            <span className="role">{label}</span>
            <pre className="foreign">{text}</pre>
          </div>
        ),
      )}
    </section>
  );
}

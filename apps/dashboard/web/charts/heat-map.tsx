import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react';
import type { TaskCell, TaskMap } from '../../src/api/run-views.ts';
import { colorOf, useIsDark } from '../data/color-theme.ts';

const labelHeight = 20;
const rowHeight = 22;
const minColumnWidth = 16;
const maxColumnWidth = 44;

/** A cell by its task and step. */
export interface HeatMapPosition {
  readonly task: number;
  readonly step: number;
}

/** Properties of {@link HeatMap}. */
export interface HeatMapProps {
  readonly map: TaskMap;
  readonly selected: HeatMapPosition | null;
  readonly onSelect: (position: HeatMapPosition) => void;
  /** What the columns are. @default 'step' */
  readonly columns?: string;
}

/** Mean reward by task (rows) and step (columns). Arrow keys move the selection. */
export function HeatMap({ map, selected, onSelect, columns = 'step' }: HeatMapProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const region = useRef<HTMLElement>(null);
  const hasMore = useHasMore(region);
  const isDark = useIsDark();
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    // The colours of a canvas do not follow the theme.
    element.dataset['dark'] = String(isDark);
    draw(element, { map, selected });
  }, [map, selected, isDark]);
  const onPointer = ({ currentTarget, clientX, clientY }: PointerEvent<HTMLCanvasElement>): void => {
    const { left, top } = currentTarget.getBoundingClientRect();
    const column = Math.floor((clientX - left) / columnWidth(map));
    const task = map.tasks[Math.floor((clientY - top - labelHeight) / rowHeight)];
    const step = map.steps[column];
    if (task !== undefined && step !== undefined) onSelect({ task: task.taskIndex, step });
  };
  return (
    <>
      <section
        ref={region}
        className="heat-map"
        aria-label={`Heat map of rewards by task and ${columns}. Arrow keys move the selection.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move the selection
        tabIndex={0}
        onKeyDown={(event) => moveSelection(event, { map, selected, onSelect })}
      >
        <ol className="heat-labels" style={{ paddingTop: labelHeight }}>
          {map.tasks.map(({ taskIndex, text }) => (
            <li key={taskIndex} className="foreign" style={{ height: rowHeight }} title={text}>
              <span className="muted">{taskIndex}</span> {text}
            </li>
          ))}
        </ol>
        <canvas ref={canvas} onPointerDown={onPointer} />
      </section>
      {hasMore ? (
        <p className="muted">{`${map.tasks.length} rows and ${map.steps.length} columns: scroll to see all.`}</p>
      ) : null}
    </>
  );
}

/** Whether the contents of an element are larger than it. */
function useHasMore(element: RefObject<HTMLElement | null>): boolean {
  const [hasMore, setHasMore] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (current === null) return;
    const measure = (): void =>
      setHasMore(current.scrollWidth > current.clientWidth || current.scrollHeight > current.clientHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }, [element]);
  return hasMore;
}

const moves: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function moveSelection(event: KeyboardEvent, { map, selected, onSelect }: HeatMapProps): void {
  const move = moves[event.key];
  if (move === undefined) return;
  event.preventDefault();
  const [rows, columns] = move;
  const row = map.tasks.findIndex(({ taskIndex }) => taskIndex === selected?.task);
  const column = map.steps.indexOf(selected?.step ?? -1);
  const task = map.tasks[clamp(row + rows, map.tasks.length)];
  const step = map.steps[clamp(column + columns, map.steps.length)];
  if (task !== undefined && step !== undefined) onSelect({ task: task.taskIndex, step });
}

function clamp(index: number, length: number): number {
  return Math.min(Math.max(index, 0), length - 1);
}

function columnWidth({ steps }: TaskMap): number {
  return Math.min(maxColumnWidth, Math.max(minColumnWidth, Math.floor(900 / Math.max(1, steps.length))));
}

function draw(canvas: HTMLCanvasElement, view: Pick<HeatMapProps, 'map' | 'selected'>): void {
  const { map, selected } = view;
  const width = columnWidth(map);
  const size = {
    width: map.steps.length * width + 2,
    height: labelHeight + map.tasks.length * rowHeight + 2,
  };
  const context = canvas.getContext('2d');
  if (context === null) return;
  canvas.width = size.width * devicePixelRatio;
  canvas.height = size.height * devicePixelRatio;
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const muted = colorOf('--text-muted');
  context.fillStyle = muted;
  const every = Math.ceil(30 / width);
  for (const [index, step] of map.steps.entries()) {
    if (index % every === 0) context.fillText(String(step), index * width + 2, labelHeight / 2);
  }
  const colorOfCell = cellColors(map);
  const columns = new Map(map.steps.map((step, index) => [step, index * width]));
  for (const [row, task] of map.tasks.entries()) {
    const y = labelHeight + row * rowHeight;
    for (const cell of task.cells) {
      const x = columns.get(cell.step) ?? 0;
      context.fillStyle = colorOfCell(cell);
      context.fillRect(x, y, width - 1, rowHeight - 1);
    }
    const selectedX = selected?.task === task.taskIndex ? columns.get(selected.step) : undefined;
    if (selectedX === undefined) continue;
    context.strokeStyle = colorOf('--text');
    context.lineWidth = 2;
    context.strokeRect(selectedX, y, width - 1, rowHeight - 1);
  }
}

function cellColors({ range }: TaskMap): (cell: TaskCell) => string {
  const [low, high] = range ?? [0, 1];
  const colors = [colorOf('--heat-low'), colorOf('--heat-middle'), colorOf('--heat-high')] as const;
  const none = colorOf('--line');
  return ({ reward }) => (reward === null ? none : mixColors(colors, high === low ? 1 : (reward - low) / (high - low)));
}

/** The colour at a position, from 0 to 1, between three colours as `rgb(r, g, b)`. */
function mixColors(colors: readonly [low: string, middle: string, high: string], position: number): string {
  const [low, middle, high] = colors;
  const bounded = Math.min(1, Math.max(0, position));
  return bounded < 0.5 ? between(low, middle, bounded * 2) : between(middle, high, bounded * 2 - 1);
}

function between(one: string, other: string, share: number): string {
  const [from, to] = [channelsOf(one), channelsOf(other)];
  const mixed = from.map((channel, index) => Math.round(channel + ((to[index] ?? channel) - channel) * share));
  return `rgb(${mixed.join(', ')})`;
}

function channelsOf(color: string): readonly number[] {
  return (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

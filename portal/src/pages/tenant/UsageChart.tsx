// GPU hours by day, drawn. Loaded only where it is shown; the same numbers are in the table below it.
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { strings } from '../../strings';
import { money } from '../../ui/format';
import type { DayUse } from './cost';

const words = strings.tenant.usage;

function Hover({ active, payload }: { active?: boolean; payload?: readonly { payload?: DayUse }[] }) {
  const day = payload?.[0]?.payload;
  if (!active || !day) return null;
  return (
    <div className="tooltip">
      <strong>{day.day}</strong>
      <br />
      {words.hours(day.gpuHours)} · {money(day.micros)}
    </div>
  );
}

/** The chart. */
export default function UsageChart({ days }: { days: readonly DayUse[] }) {
  const most = Math.max(0, ...days.map((day) => day.gpuHours));
  return (
    <figure className="chart" aria-label={words.chart(days.length, most)}>
      <ResponsiveContainer width="100%" height={240}>
        <BarChart data={[...days]} margin={{ top: 8, right: 8, bottom: 0, left: 0 }} accessibilityLayer>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="day" tickFormatter={(day: string) => day.slice(5)} stroke="var(--ink-soft)" tickLine={false} fontSize={12} />
          <YAxis width={44} stroke="var(--ink-soft)" tickLine={false} axisLine={false} fontSize={12} />
          <Tooltip content={<Hover />} cursor={{ fill: 'var(--hover)' }} />
          <Bar dataKey="gpuHours" name={words.gpuHours} fill="var(--accent)" isAnimationActive={false} radius={[3, 3, 0, 0]} maxBarSize={48} />
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}

// Pictures of the operators' menu. Decoration: the words stand beside them.
import { icon } from '../../ui/icons';

export const StuckIcon = icon(<path d="M8 2.5 14 13H2zM8 6.5v3M8 11.5h.01" />);
export const ClockIcon = icon(<path d="M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM8 4.5V8l2.5 1.5" />);
export const ShieldIcon = icon(<path d="M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4zM6 8l1.5 1.5L10.5 6.5" />);
export const BookIcon = icon(<path d="M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.500H4.500A1.500 1.500 0 0 1 3 12zM3 12a1.500 1.500 0 0 1 1.500-1.500H13M6 5.500h4" />);
export const MachineIcon = icon(<path d="M2.5 3h11v4h-11zm0 6h11v4h-11zM5 5h.01M5 11h.01" />);
export const WrenchIcon = icon(<path d="M10 2.500a3.500 3.500 0 0 0-3.300 4.700L2.500 11.400l2.100 2.100 4.200-4.200A3.500 3.500 0 0 0 13.500 6l-2 2-2.500-.500L8.500 5z" />);
export const FeedIcon = icon(<path d="M3 13h.01M3 8.500A4.500 4.500 0 0 1 7.500 13M3 4a9 9 0 0 1 9 9" />);
export const AuditIcon = icon(<path d="M4 2h6l3 3v9H4zM6.500 7.500h4m-4 3h4" />);
export const PulseIcon = icon(<path d="M1.500 8.500h3l2-5 3 9 2-4h3" />);

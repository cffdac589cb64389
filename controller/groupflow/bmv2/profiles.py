"""`gfswitch-cli`: action profiles."""

from collections.abc import Mapping, Sequence

from finsy import GRPCStatusCode
from finsy.proto import p4i, p4r

from groupflow.bmv2.remote import DELETE, INSERT, MODIFY, Kind, RefusedError, Remote, integer, lookup
from groupflow.bmv2.values import Lines, parsed_action, shown_action


class Profiles:
    """Handle 0 is the member or group with P4Runtime's id 1, as 0 is none there."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._info = remote.p4info

    def profile(self, name: str) -> p4i.ActionProfile:
        """The profile with this name, or of the table with it."""
        for table in self._info.tables:
            if f".{table.preamble.name}".endswith(f".{name}") and table.implementation_id:
                by_id = {each.preamble.id: each for each in self._info.action_profiles}
                return by_id[table.implementation_id]
        return lookup("action profile", self._info.action_profiles, name)

    def _members(self, profile: p4i.ActionProfile) -> dict[int, p4r.ActionProfileMember]:
        wanted = p4r.ActionProfileMember(action_profile_id=profile.preamble.id)
        found = self._remote.read(p4r.Entity(action_profile_member=wanted))
        return {each.action_profile_member.member_id - 1: each.action_profile_member for each in found}

    def _groups(self, profile: p4i.ActionProfile) -> dict[int, p4r.ActionProfileGroup]:
        wanted = p4r.ActionProfileGroup(action_profile_id=profile.preamble.id)
        found = self._remote.read(p4r.Entity(action_profile_group=wanted))
        return {each.action_profile_group.group_id - 1: each.action_profile_group for each in found}

    def create_member(self, name: str, action: str, *words: str) -> Lines:
        profile = self.profile(name)
        handle = lowest(self._members(profile))
        self._write_member(INSERT, profile, handle, self._action(profile, name, action, words))
        yield f"Member has been created with handle {handle}"

    def modify_member(self, name: str, action: str, handle: str, *words: str) -> None:
        profile = self.profile(name)
        chosen = self._action(profile, name, action, words[1:] if words[:1] == ("=>",) else words)
        self._write_member(MODIFY, profile, integer(handle, "member handle"), chosen)

    def delete_member(self, name: str, handle: str) -> None:
        self._write_member(DELETE, self.profile(name), integer(handle, "member handle"), None)

    def _write_member(
        self, kind: Kind, profile: p4i.ActionProfile, handle: int, action: p4r.Action | None
    ) -> None:
        member = p4r.ActionProfileMember(
            action_profile_id=profile.preamble.id, member_id=handle + 1, action=action
        )
        self._write(kind, "MBR", p4r.Entity(action_profile_member=member))

    def _write(self, kind: Kind, what: str, entity: p4r.Entity) -> None:
        """Refuses in BMv2's words what is absent or in use: the switch's have ids in place of handles."""
        try:
            self._remote.write(kind, entity)
        except RefusedError as error:
            if error.code == GRPCStatusCode.NOT_FOUND:
                raise RefusedError(f"Invalid table operation (INVALID_{what}_HANDLE)") from None
            if error.code == GRPCStatusCode.FAILED_PRECONDITION and kind == DELETE:
                raise RefusedError(f"Invalid table operation ({what}_STILL_USED)") from None
            raise

    def _action(self, profile: p4i.ActionProfile, called: str, name: str, words: Sequence[str]) -> p4r.Action:
        tables = [table for table in self._info.tables if table.preamble.id in profile.table_ids]
        try:
            allowed = {each.id for table in tables for each in table.action_refs}
            return parsed_action(self._info, allowed, name, words)[0]
        except LookupError:
            raise RefusedError(f"Action profile '{called}' has no action '{name}'") from None

    def create_group(self, name: str) -> Lines:
        profile = self.profile(name)
        if not profile.with_selector:
            raise RefusedError("Cannot run this command on an action profile without selector")
        handle = lowest(self._groups(profile))
        self._write_group(INSERT, profile, p4r.ActionProfileGroup(group_id=handle + 1))
        yield f"Group has been created with handle {handle}"

    def delete_group(self, name: str, handle: str) -> None:
        number = integer(handle, "group handle")
        self._write_group(DELETE, self.profile(name), p4r.ActionProfileGroup(group_id=number + 1))

    def _write_group(self, kind: Kind, profile: p4i.ActionProfile, group: p4r.ActionProfileGroup) -> None:
        group.action_profile_id = profile.preamble.id
        # A change of a group that was just read lacks a member.
        self._write(kind, "MBR" if kind == MODIFY else "GRP", p4r.Entity(action_profile_group=group))

    def add_to_group(self, name: str, member: str, group: str) -> None:
        profile, number = self.profile(name), integer(member, "member handle")
        changed = self._group(profile, group)
        if any(each.member_id == number + 1 for each in changed.members):
            raise RefusedError("Invalid table operation (MBR_ALREADY_IN_GRP)")
        changed.members.append(p4r.ActionProfileGroup.Member(member_id=number + 1, weight=1))
        self._write_group(MODIFY, profile, changed)

    def remove_from_group(self, name: str, member: str, group: str) -> None:
        profile, number = self.profile(name), integer(member, "member handle")
        changed = self._group(profile, group)
        left = [each for each in changed.members if each.member_id != number + 1]
        if len(left) == len(changed.members):
            raise RefusedError("Invalid table operation (MBR_NOT_IN_GRP)")
        del changed.members[:]
        changed.members.extend(left)
        self._write_group(MODIFY, profile, changed)

    def _group(self, profile: p4i.ActionProfile, handle: str) -> p4r.ActionProfileGroup:
        found = self._groups(profile).get(integer(handle, "group handle"))
        if found is None:
            raise RefusedError("Invalid table operation (INVALID_GRP_HANDLE)")
        return found

    def dump(self, name: str) -> Lines:
        profile = self.profile(name)
        yield from ("==========", "MEMBERS")
        for handle in sorted(self._members(profile)):
            yield "**********"
            yield from self.dump_member(name, str(handle))
        if profile.with_selector:
            yield from ("==========", "GROUPS")
            for handle in sorted(self._groups(profile)):
                yield "**********"
                yield from self.dump_group(name, str(handle))

    def dump_member(self, name: str, handle: str) -> Lines:
        found = self._members(self.profile(name)).get(integer(handle, "member handle"))
        if found is None:
            raise RefusedError("Invalid table operation (INVALID_MBR_HANDLE)")
        yield f"Dumping member {handle}"
        yield shown_action(self._info, p4r.TableAction(action=found.action))

    def dump_group(self, name: str, handle: str) -> Lines:
        group = self._group(self.profile(name), handle)
        yield f"Dumping group {handle}"
        yield f"Members: [{', '.join(str(member.member_id - 1) for member in group.members)}]"


def lowest(used: Mapping[int, object]) -> int:
    return next(number for number in range(len(used) + 1) if number not in used)

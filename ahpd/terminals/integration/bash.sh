# What ahpd has an interactive bash read in place of ~/.bashrc: it reads that, and then has bash
# mark its prompts and commands (OSC 133), say each command line (OSC 633;E) and its folder
# (OSC 7). A bash older than 4.4 has no PS0 and stays as it is.
#
# Nothing here is exported. Functions are made ahead of anything of the person's, so that none
# of their aliases gets into one. A name of ours never has the mark's text in one piece, which
# is how marks of somebody else are told from ours.

# What is set outside of a function of ours is an array: bash exports none, not by `set -a` either.
declare -a __ahpd_ran=(0)   # whether a command ran since the last prompt
declare -a __ahpd_at=()     # the last command's status, and the options
declare -a __ahpd_timed=()  # a DEBUG trap of the person's, or that one is to come
__ahpd_array=               # 1 where PROMPT_COMMAND is one
__ahpd_last=                # the newest entry of the history, at the last prompt
__ahpd_folder=              # the folder `__ahpd_address` is of
__ahpd_address=
__ahpd_zero=0               # what PS0 takes nothing of, to get at its arithmetic
__ahpd_typed=$'\e]133;B\a'
# Both are nothing in a shell that got them in its environment, and has none of ours.
__ahpd_ps1='\[${__ahpd_typed-}\]'
__ahpd_ps0='${__ahpd_zero:+${__ahpd_zero:$((__ahpd_ran=1,0)):0}$(__ahpd_executed)}'

# Prints an OSC, on whichever of its descriptors is the terminal.
__ahpd_say() {
    if [[ -t 1 ]]; then
        builtin printf '\e]%s\a' "$1"
    elif [[ -t 2 ]]; then
        builtin printf '\e]%s\a' "$1" >&2
    fi
}

# Says that the last command is over, ahead of what the person's own prompt code prints.
__ahpd_before() {
    __ahpd_at=("$?" "$-")
    { local -; set +xeuak; } 2> /dev/null
    if ((__ahpd_ran)); then
        __ahpd_ran=0
        __ahpd_say "133;D;${__ahpd_at[0]}"
    fi
    # A bash whose PROMPT_COMMAND is one string goes on with what this returns; one that
    # leaves at an error would leave here.
    [[ ${__ahpd_at[1]} == *e* || -n $__ahpd_array ]] || return "${__ahpd_at[0]}"
    return 0
}

# After the person's own prompt code: a prompt begins. What it changed is ours again.
__ahpd_after() {
    __ahpd_before
    { local -; set +xeuak; } 2> /dev/null
    __ahpd_hook
    __ahpd_cwd
    __ahpd_last=$(HISTTIMEFORMAT= builtin history 1 2> /dev/null)
    __ahpd_say '133;A'
    return 0
}

# Puts our pieces into the prompts, where they are not: anybody may set them at any time.
__ahpd_hook() {
    PS1=${PS1-} PS0=${PS0-}
    if ! shopt -q promptvars; then
        PS1=${PS1//"$__ahpd_ps1"/} PS0=${PS0//"$__ahpd_ps0"/}
        return
    fi
    [[ $PS1 == *"$__ahpd_ps1" ]] || PS1=${PS1//"$__ahpd_ps1"/}$__ahpd_ps1
    [[ $PS0 == *"$__ahpd_ps0"* ]] || PS0+=$__ahpd_ps0
    __ahpd_commands
}

# Sees to it that both of ours are among the prompt commands.
__ahpd_commands() {
    local all
    builtin printf -v all '\n%s\n' "${PROMPT_COMMAND[@]-}"
    if [[ -n $__ahpd_array ]]; then
        [[ -n $__ahpd_timed || $all == *__ahpd_before* ]] ||
            PROMPT_COMMAND=(__ahpd_before "${PROMPT_COMMAND[@]}")
        [[ $all == *__ahpd_after* ]] || PROMPT_COMMAND+=(__ahpd_after)
        return
    fi
    [[ -n $__ahpd_timed || $all == *__ahpd_before* ]] ||
        PROMPT_COMMAND=__ahpd_before$'\n'${PROMPT_COMMAND-}
    [[ $all == *__ahpd_after* ]] || PROMPT_COMMAND=${PROMPT_COMMAND-}$'\n'__ahpd_after
}

# Runs in PS0, a process of its own whose output is part of it: a command is about to run.
__ahpd_executed() {
    { local -; set +xeuak; } 2> /dev/null
    local IFS=$' \t\n' entry
    entry=$(HISTTIMEFORMAT= builtin history 1 2> /dev/null)
    # An entry that is not new is of another command: this one was kept out of the history.
    # Its line is read back off the screen then.
    if [[ $entry != "$__ahpd_last" && $entry =~ ^[[:space:]]*[0-9]+[*\ ]\ (.*)$ ]]; then
        __ahpd_line "${BASH_REMATCH[1]}"
    fi
    builtin printf '\e]%s\a' '133;C'
}

__ahpd_line() {
    local line=$1 slash='\' number hex character
    ((${#line} <= 8192)) || return
    line=${line//"$slash"/"$slash$slash"}
    line=${line//;/"${slash}x3b"}
    line=${line//$'\n'/"${slash}x0a"}
    if [[ $line == *[[:cntrl:]]* ]]; then
        for ((number = 1; number < 128; number++)); do
            ((number < 32 || number == 127)) || continue
            builtin printf -v hex '%02x' "$number"
            builtin printf -v character "${slash}x$hex"
            line=${line//"$character"/"${slash}x$hex"}
        done
    fi
    builtin printf '\e]%s\a' "633;E;$line"
}

__ahpd_cwd() {
    if [[ $PWD != "$__ahpd_folder" ]]; then
        local LC_ALL=C address= character number
        for ((number = 0; number < ${#PWD}; number++)); do
            character=${PWD:number:1}
            if [[ $character != [A-Za-z0-9/._~-] ]]; then
                builtin printf -v character '%02X' "'$character"
                character=%${character: -2}
            fi
            address+=$character
        done
        __ahpd_folder=$PWD
        __ahpd_address=$address
    fi
    __ahpd_say "7;file://$__ahpd_address"
}

# Whether somebody else marks this shell's prompts already.
__ahpd_is_marked() {
    local all
    all="${PS1-}${PS0-}${PROMPT_COMMAND[*]-}$(declare -f)"
    [[ $all == *']1''33;'* || $all == *']6''33;'* ]]
}

__ahpd_install() {
    # An older one has no options of a function's own either.
    ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || return 0
    { local -; set +xeuak; } 2> /dev/null
    __ahpd_is_marked && return 0
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        __ahpd_array=1
        PROMPT_COMMAND=("${PROMPT_COMMAND[@]}")
    fi
    # Exported, ours would be run by a shell that has none of it.
    declare -g +x PROMPT_COMMAND
    if [[ -n $__ahpd_timed ]]; then
        # It runs ahead of each prompt command, and many take the first time after the last of
        # theirs for a command that is typed: none of ours comes later.
        if [[ -n $__ahpd_array ]]; then
            PROMPT_COMMAND=(__ahpd_after "${PROMPT_COMMAND[@]}")
        else
            PROMPT_COMMAND=__ahpd_after$'\n'${PROMPT_COMMAND-}
        fi
    fi
    __ahpd_hook
}

if [[ -r ~/.bashrc ]]; then
    . ~/.bashrc
fi
# bash-preexec sets its trap at the first prompt.
__ahpd_timed=("$(trap -p DEBUG)${bash_preexec_imported-}${__bp_imported-}") || :
__ahpd_install || :
